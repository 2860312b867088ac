import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  discardRestore,
  exchangeRestored,
  finishRestore,
  getRestorePath,
  hasStore,
} from './restored-data.js';

/** What a killed process may have done of the exchange. */
const KILLED: [string, (directory: string) => void][] = [
  ['before its first move', () => undefined],
  [
    'while it moved the old store out',
    (directory) => {
      renameSync(join(directory, 'store'), join(directory, '.restore/old/store'));
    },
  ],
  [
    'while it moved the new store in',
    (directory) => {
      for (const name of ['store', 'metadata'])
        renameSync(join(directory, name), join(directory, '.restore/old', name));
      writeFileSync(join(directory, '.restore/step'), 'in');
      renameSync(join(getRestorePath(directory), 'store'), join(directory, 'store'));
    },
  ],
  [
    'while it removed the old store',
    (directory) => {
      for (const name of ['store', 'metadata']) {
        rmSync(join(directory, name), { recursive: true });
        renameSync(join(getRestorePath(directory), name), join(directory, name));
      }
      writeFileSync(join(directory, '.restore/step'), 'in');
    },
  ],
];

/** The account of a service. */
const SERVICE = 12_345;

describe('the exchange of a restored store', () => {
  let directory: string;

  const write = (place: string, text: string) => {
    for (const name of ['store', 'metadata']) {
      mkdirSync(join(place, name), { recursive: true });
      writeFileSync(join(place, name, 'file'), text);
    }
  };
  const read = () => ['store', 'metadata'].map((name) => readFileSync(join(directory, name, 'file'), 'utf8'));

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'restored-'));
    write(directory, 'old');
    writeFileSync(join(directory, 'audit.log'), 'kept');
    write(getRestorePath(directory), 'new');
  });

  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  it('puts the new store in the place of the old one, and leaves other files', () => {
    exchangeRestored(directory);
    expect(read()).toEqual(['new', 'new']);
    expect(readdirSync(directory).sort()).toEqual(['audit.log', 'metadata', 'store']);
  });

  // Only root may give files away.
  const itAsRoot = process.getuid?.() === 0 ? it : it.skip;

  itAsRoot('gives the new store to the owner of the directory', () => {
    chownSync(directory, SERVICE, SERVICE);
    exchangeRestored(directory);
    for (const name of ['store', 'metadata', 'store/file', 'metadata/file']) {
      const { uid, gid } = statSync(join(directory, name));
      expect([name, uid, gid]).toEqual([name, SERVICE, SERVICE]);
    }
  });

  it.each(KILLED)('is finished at the next start when a process was killed %s', (_, kill) => {
    mkdirSync(join(directory, '.restore/old'));
    writeFileSync(join(directory, '.restore/step'), 'out');
    kill(directory);
    expect(hasStore(directory)).toBe(true);
    discardRestore(directory);
    finishRestore(directory);
    finishRestore(directory);
    expect(read()).toEqual(['new', 'new']);
    expect(existsSync(join(directory, '.restore'))).toBe(false);
  });

  it('is not begun by a restore that was killed before it', () => {
    finishRestore(directory);
    expect(read()).toEqual(['old', 'old']);
    discardRestore(directory);
    expect(readdirSync(directory).sort()).toEqual(['audit.log', 'metadata', 'store']);
  });
});
