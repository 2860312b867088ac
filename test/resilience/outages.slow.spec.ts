import { type RunningServer, startServer } from '../../src/entry/bootstrap/api-server.js';
import { eventually } from '../setup/eventually.js';
import { freePort } from '../setup/free-port.js';
import { sendRaw } from '../setup/raw-http.js';
import { OutageHarness, QUERY_TIMEOUT_MS, SLACK_MS, type Timed } from './outage-harness.js';

const statuses = (responses: readonly Timed[]) => [...new Set(responses.map(({ status }) => status))];
const slowest = (responses: readonly Timed[]) => Math.max(...responses.map(({ ms }) => ms));

describe('a store that goes away', () => {
  let harness: OutageHarness;
  let whole: string[];

  beforeAll(async () => {
    harness = await OutageHarness.start();
    whole = (await harness.callAll()).map(({ text }) => text);
  });

  afterAll(async () => {
    await harness.stop();
  });

  const expectWhole = async () => {
    const responses = await harness.callAll();
    expect([statuses(responses), responses.map(({ text }) => text)]).toEqual([[200], whole]);
  };
  const health = async (probe: 'live' | 'ready', url = harness.app.url) => {
    const started = performance.now();
    const { status } = await sendRaw(url, `/health/${probe}`);
    return { status, ms: performance.now() - started };
  };

  it('is reported at once while connections are refused, and ends as soon as they are accepted', async () => {
    await harness.store.refuse();
    const responses = await harness.callAll();
    expect([statuses(responses), (await health('ready')).status, (await health('live')).status]).toEqual([
      [503],
      503,
      200,
    ]);
    expect(slowest(responses)).toBeLessThan(QUERY_TIMEOUT_MS);
    await harness.store.accept();
    await expectWhole();
    expect((await health('ready')).status).toBe(200);
  });

  it('may crash: connections kept from before it came back do no harm', async () => {
    await harness.callAll();
    await harness.store.kill();
    expect(statuses(await harness.callAll())).toEqual([503]);
    await harness.store.launch();
    await expectWhole();
  });

  it('may close a kept connection just as it is used: a read is asked again, once', async () => {
    for (const { queries } of harness.operations)
      await harness.store.fail({ kind: 'reset' }, { on: queries.at(-1) ?? '', times: 1 });
    await expectWhole();
  });

  it('may freeze: no request and no probe waits past its limit, and all is well when it thaws', async () => {
    harness.store.freeze();
    const [responses, ready] = await Promise.all([harness.callAll(), health('ready')]);
    expect([statuses(responses), ready.status]).toEqual([[504], 503]);
    expect(slowest(responses)).toBeLessThan(QUERY_TIMEOUT_MS + SLACK_MS);
    expect(ready.ms).toBeLessThan(2_000 + SLACK_MS);
    harness.store.thaw();
    await expectWhole();
  });

  it('may be slow at every query: the request as a whole has a limit', async () => {
    await harness.store.fail({ kind: 'late', ms: QUERY_TIMEOUT_MS * 1.3 });
    const responses = await harness.callAll(harness.operations.filter(({ queries }) => queries.length > 2));
    await harness.store.heal();
    expect(statuses(responses)).toEqual([504]);
    expect(slowest(responses)).toBeLessThan(QUERY_TIMEOUT_MS + SLACK_MS);
    await expectWhole();
  });

  describe('when the service starts', () => {
    let server: RunningServer | undefined;
    let url: string;

    const start = async (env: NodeJS.ProcessEnv = {}) => {
      const port = await freePort();
      url = `http://127.0.0.1:${port}`;
      const given = {
        HOST: '127.0.0.1',
        PORT: String(port),
        LOG_LEVEL: 'silent',
        QUERY_TIMEOUT_SECONDS: String(QUERY_TIMEOUT_MS / 1000),
        CLICKHOUSE_USER: harness.store.user,
        CLICKHOUSE_PASSWORD: harness.store.password,
        CLICKHOUSE_DATABASE: harness.database,
        ...env,
      };
      const before = process.env;
      process.env = { ...before, ...given };
      const started = performance.now();
      server = await startServer('stderr');
      process.env = before;
      return performance.now() - started;
    };
    const call = (path: string) => sendRaw(url, path, { headers: { 'api-key': harness.key } });

    afterEach(async () => {
      await server?.stop();
    });

    it.each([
      ['refuses', () => harness.store.refuse(), () => harness.store.accept()],
      ['does not respond', () => harness.store.fail({ kind: 'hang' }), () => harness.store.heal()],
    ])('and the store %s, it starts, says so, and is ready by itself later', async (_, leave, come) => {
      await leave();
      expect(await start()).toBeLessThan(QUERY_TIMEOUT_MS);
      expect([503, 504]).toContain((await call('/v1/team')).status);
      expect([(await health('live', url)).status, (await health('ready', url)).status]).toEqual([200, 503]);
      await come();
      await eventually(async () => (await health('ready', url)).status === 200);
      for (const [index, { path }] of harness.operations.entries())
        expect(await call(path)).toMatchObject({ status: 200, text: whole[index] });
    });

    it.each([
      ['the password is wrong', { CLICKHOUSE_PASSWORD: 'wrong' }],
      ['the database is not there', { CLICKHOUSE_DATABASE: 'nowhere' }],
    ])('and %s, it says 503 and nothing else', async (_, env) => {
      await start(env);
      expect(await call('/v1/team')).toMatchObject({
        status: 503,
        text: '{"detail":"Service temporarily unavailable"}',
      });
      expect((await health('ready', url)).status).toBe(503);
    });
  });
});
