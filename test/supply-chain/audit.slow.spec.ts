import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ADVISORY = {
  id: 1,
  url: 'https://advisories.example/1',
  title: 'Made up for this test',
  vulnerable_versions: '*',
};

/** Asks a registry on this machine that answers the question for advisories so, and knows no package. */
async function audit(status: number, advisories: object): Promise<{ code: unknown; out: string }> {
  const registry: Server = createServer((request, response) => {
    request.resume();
    const isAdvisories = request.method === 'POST' && request.url?.endsWith('/security/advisories/bulk');
    response.writeHead(isAdvisories ? status : 404, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(isAdvisories ? advisories : {}));
  }).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  const url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
  // npm remembers advisories.
  const cache = mkdtempSync(join(tmpdir(), 'npm-'));
  const env = {
    ...process.env,
    npm_config_registry: url,
    npm_config_fetch_retries: '0',
    npm_config_cache: cache,
  };
  const ended = await new Promise<{ code: unknown; out: string }>((ok) => {
    execFile('.ci/audit', { env }, (error, stdout) => {
      ok({ code: error?.code ?? 0, out: stdout });
    });
  });
  registry.closeAllConnections();
  registry.close();
  rmSync(cache, { recursive: true });
  return ended;
}

describe('the check for advisories', () => {
  it('passes where there is none', async () => {
    expect(await audit(200, {})).toEqual({
      code: 0,
      out: 'Advisories: 0 of level high or critical on packages that are shipped\n',
    });
  });

  it.each(['high', 'critical'])('fails and names what is of level %s', async (severity) => {
    const { code, out } = await audit(200, { express: [{ ...ADVISORY, severity }] });
    expect(code).toBe(1);
    expect(out).toContain(`Advisory: express, ${severity}: ${ADVISORY.title} (${ADVISORY.url})\n`);
  });

  it('passes what is of a lower level', async () => {
    expect((await audit(200, { express: [{ ...ADVISORY, severity: 'moderate' }] })).code).toBe(0);
  });

  it.each([404, 405, 501])('passes with one line when the registry has no advisories: %i', async (status) => {
    expect(await audit(status, {})).toEqual({
      code: 0,
      out: 'Advisories: this registry has none to ask for\n',
    });
  });

  it('passes and says so when the registry does not respond', async () => {
    const { code, out } = await audit(500, {});
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^Advisories: could not be asked for \([^\n]+\)\n$/),
    ]);
  });
});
