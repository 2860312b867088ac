import { mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_SCOPES, type Account } from '../platform/http/account.js';
import { Config } from '../config/config.js';
import { ReadAudit } from './read-audit.js';

const ACCOUNT: Account = {
  teamId: 1,
  teamName: 'Acme',
  plan: 'premium',
  keyIdentifier: 'abcDEF1',
  scopes: ALL_SCOPES,
};

describe('ReadAudit', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'read-audit-'));
  });

  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  const write = (env: NodeJS.ProcessEnv) => {
    new ReadAudit(new Config(env)).write('getRequestDetails', ACCOUNT, { app_id: 1 });
  };

  it('writes nothing unless it is on', () => {
    write({ AUDIT_LOG: join(directory, 'audit.log') });
    expect(readdirSync(directory)).toEqual([]);
  });

  it('appends to a file that only its owner can read, also after the file was moved', () => {
    const [file, moved] = [join(directory, 'audit.log'), join(directory, 'audit.log.1')];
    const audit = new ReadAudit(new Config({ AUDIT_READS: 'on', AUDIT_LOG: file }));
    audit.write('getRequestDetails', ACCOUNT, { app_id: 1 });
    audit.write('getRequestDetails', ACCOUNT, { app_id: 2 });
    const { size, mode } = statSync(file);
    expect([size > 200, mode & 0o777]).toEqual([true, 0o600]);
    renameSync(file, moved);
    audit.write('getRequestDetails', ACCOUNT, { app_id: 3 });
    expect(readdirSync(directory).sort()).toEqual(['audit.log', 'audit.log.1']);
  });

  it.each(['/dev/full', '/nowhere/audit.log'])(
    'rejects the read with 503 if %s cannot be written',
    (file) => {
      expect(() => {
        write({ AUDIT_READS: 'on', AUDIT_LOG: file });
      }).toThrow(expect.objectContaining({ status: 503 }));
    },
  );
});
