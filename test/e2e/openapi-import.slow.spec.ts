import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Prepared, dataDirectory, prepare } from '../setup/data-directory.js';
import { ProductProcess } from '../setup/product-process.js';
import { describeEmbedded } from '../setup/store.js';

const YAML = `openapi: 3.1.0
info: {title: Shop, version: 2026-11-27}
servers: [{url: https://api.example.com/v1}]
x-common: &common {tags: [users], deprecated: true}
paths:
  /users/{user_id}:
    get:
      <<: *common
      operationId: getUser
      summary: Get a user # with a comment
      responses: {200: {description: yes}}
  /users: {post: {}}
  /other: {$ref: other.yaml#/paths/x}
`;
/** Each alias stands for nine of the one before: a billion values. */
const BOMB = `openapi: 3.1.0\npaths: {}\nx0: &x0 [a, a, a, a, a, a, a, a, a]\n${Array.from(
  { length: 9 },
  (_, n) => `x${n + 1}: &x${n + 1} [${Array.from({ length: 9 }, () => `*x${n}`).join()}]\n`,
).join('')}`;

describeEmbedded('request-analytics openapi import', () => {
  const data = dataDirectory();
  const directory = mkdtempSync(join(tmpdir(), 'openapi-'));
  let server: ProductProcess;
  let prepared: Prepared;

  beforeAll(async () => {
    prepared = await prepare(data.env);
    server = await ProductProcess.start(['serve'], data.env);
  });
  afterAll(async () => {
    await ProductProcess.endAll();
    rmSync(directory, { recursive: true });
    data.remove();
  });

  const run = async (...args: string[]) => {
    const { code, out, err } = await ProductProcess.run(['openapi', 'import', ...args], data.env);
    return { code, stdout: out.join('\n'), stderr: err.join('\n') };
  };
  const importText = (text: string, ...more: string[]) => {
    const file = join(directory, 'document');
    writeFileSync(file, text);
    return run(file, '--app', String(prepared.appId), ...more);
  };
  const readInventory = async (key = prepared.key) => {
    const url = `${server.apiUrl}/v1/apps/${prepared.appId}/endpoints?include=inventory`;
    return (await (await fetch(url, { headers: { 'Api-Key': key } })).json()) as {
      data: Record<string, unknown>[];
      never_called: Record<string, unknown>[];
    };
  };

  it('stores a document in YAML, which the server shows', async () => {
    const { code, stdout, stderr } = await importText(YAML);
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      { app_id: prepared.appId, env: null, operations: 2, changed: true },
    ]);
    expect(stderr).toContain('1 paths have no operation in this file, such as "/other"');
    const { data: endpoints, never_called } = await readInventory();
    // The requests are of /users/{id}: a proxy takes /v1 away.
    expect(endpoints).toMatchObject([
      {
        path: '/users/{id}',
        documented: true,
        operation_id: 'getUser',
        summary: 'Get a user',
        tags: ['users'],
        deprecated: true,
        requests_30d: 20,
      },
    ]);
    expect(never_called).toMatchObject([{ method: 'POST', path: '/users' }]);
    expect(JSON.parse((await importText(YAML)).stdout)).toMatchObject({ changed: false });
  });

  it('stores a document in JSON for an environment, and takes one away', async () => {
    const document = { swagger: '2.0', basePath: '/v1', paths: { '/a': { get: {} } } };
    const { code, stdout } = await importText(JSON.stringify(document), '--env', 'prod');
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { env: 'prod', operations: 1 }]);
    expect((await readInventory()).never_called.map(({ path }) => path)).toEqual(['/a', '/users']);
    await importText('{"openapi":"3.1.0"}', '--env', 'prod');
    await importText('{"openapi":"3.1.0","paths":{}}');
    const { data: endpoints, never_called } = await readInventory();
    expect([endpoints[0]!.documented, never_called]).toEqual([null, []]);
  });

  it.each([
    ['an alias bomb', BOMB, 'it has more than 4194304 bytes'],
    ['a circle of aliases', 'openapi: 3.1.0\npaths: &a\n  /a: *a\n', 'it must not contain itself'],
    ['deep YAML', `openapi: ${'['.repeat(5_000)}`, 'it must be valid YAML or JSON: nesting'],
    ['deep JSON', `{"openapi":${'['.repeat(100_000)}`, 'document'],
    ['broken JSON', '{"openapi":', 'must be valid JSON'],
    ['broken YAML', 'openapi: "', 'it must be valid YAML or JSON'],
    ['nothing', '', 'it must be valid YAML or JSON'],
    ['a list', '- openapi', 'openapi: must be an object'],
    ['another document', '{"name":"shop"}', 'is no OpenAPI document'],
    ['paths of a wrong type', '{"openapi":"3.1.0","paths":[]}', 'paths: must be an object'],
    ['too much', `openapi: 3.1.0 # ${'x'.repeat(4 * 1024 * 1024)}`, 'has more than 4194304 bytes'],
    [
      'too many operations',
      JSON.stringify({
        openapi: '3.1.0',
        paths: Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`/${n}`, { get: {} }])),
      }),
      'must have at most 10000 operations',
    ],
  ])('refuses %s in one line', async (_, text, why) => {
    const { code, stdout, stderr } = await importText(text);
    const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
    expect([code, stdout, lines]).toEqual([1, '', [expect.stringContaining(why) as string]]);
    expect(lines[0]!.length).toBeLessThan(400);
  });

  it('refuses an unknown app, an unknown environment and a missing file', async () => {
    const missing = join(directory, 'missing');
    expect((await run(missing, '--app', '1')).stderr).toContain(`${missing} cannot be read: ENOENT`);
    expect((await importText('{"openapi":"3.1.0"}', '--env', 'no-such')).stderr).toContain('no environment');
    writeFileSync(join(directory, 'ok'), YAML);
    expect((await run(join(directory, 'ok'), '--app', '999')).stderr).toContain('There is no app 999');
  });
});
