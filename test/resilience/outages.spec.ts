import { type RunningServer, startServer } from '../../src/bootstrap/api-server.js';
import { eventually } from '../setup/eventually.js';
import { freePort } from '../setup/free-port.js';
import { send } from '../setup/raw-http.js';
import { QUERY_TIMEOUT_MS, SLACK_MS, Stand, type Timed } from './outage-harness.js';

const statuses = (answers: readonly Timed[]) => [...new Set(answers.map(({ status }) => status))];
const slowest = (answers: readonly Timed[]) => Math.max(...answers.map(({ ms }) => ms));

describe('a store that goes away', () => {
  let stand: Stand;
  let whole: string[];

  beforeAll(async () => {
    stand = await Stand.start();
    whole = (await stand.askAll()).map(({ text }) => text);
  }, 60_000);

  afterAll(async () => {
    await stand.stop();
  });

  const expectWhole = async () => {
    const answers = await stand.askAll();
    expect([statuses(answers), answers.map(({ text }) => text)]).toEqual([[200], whole]);
  };
  const health = async (probe: 'live' | 'ready', url = stand.app.url) => {
    const started = performance.now();
    const { status } = await send(url, `/health/${probe}`);
    return { status, ms: performance.now() - started };
  };

  it('is told at once while connections are refused, and is back as soon as they are accepted', async () => {
    await stand.store.refuse();
    const answers = await stand.askAll();
    expect([statuses(answers), (await health('ready')).status, (await health('live')).status]).toEqual([
      [503],
      503,
      200,
    ]);
    expect(slowest(answers)).toBeLessThan(QUERY_TIMEOUT_MS);
    await stand.store.accept();
    await expectWhole();
    expect((await health('ready')).status).toBe(200);
  });

  it('may crash: connections kept from before it came back do no harm', async () => {
    await stand.askAll();
    await stand.store.kill();
    expect(statuses(await stand.askAll())).toEqual([503]);
    await stand.store.launch();
    await expectWhole();
  });

  it('may close a kept connection just as it is used: a read is asked again, once', async () => {
    for (const { queries } of stand.operations)
      await stand.store.fail({ kind: 'reset' }, { on: queries.at(-1) ?? '', times: 1 });
    await expectWhole();
  });

  it('may freeze: no request and no probe waits past its limit, and all is well when it thaws', async () => {
    stand.store.freeze();
    const [answers, ready] = await Promise.all([stand.askAll(), health('ready')]);
    expect([statuses(answers), ready.status]).toEqual([[504], 503]);
    expect(slowest(answers)).toBeLessThan(QUERY_TIMEOUT_MS + SLACK_MS);
    expect(ready.ms).toBeLessThan(2_000 + SLACK_MS);
    stand.store.thaw();
    await expectWhole();
  });

  it('may be slow at every query: the request as a whole has a limit', async () => {
    await stand.store.fail({ kind: 'late', ms: QUERY_TIMEOUT_MS * 1.3 });
    const answers = await stand.askAll(stand.operations.filter(({ queries }) => queries.length > 2));
    await stand.store.heal();
    expect(statuses(answers)).toEqual([504]);
    expect(slowest(answers)).toBeLessThan(QUERY_TIMEOUT_MS + SLACK_MS);
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
        CLICKHOUSE_USER: stand.store.user,
        CLICKHOUSE_PASSWORD: stand.store.password,
        CLICKHOUSE_DATABASE: stand.database,
        ...env,
      };
      const before = process.env;
      process.env = { ...before, ...given };
      const started = performance.now();
      server = await startServer('stderr');
      process.env = before;
      return performance.now() - started;
    };
    const ask = (path: string) => send(url, path, { headers: { 'api-key': stand.key } });

    afterEach(async () => {
      await server?.stop();
    });

    it.each([
      ['refuses', () => stand.store.refuse(), () => stand.store.accept()],
      ['does not answer', () => stand.store.fail({ kind: 'hang' }), () => stand.store.heal()],
    ])('and the store %s, it starts, says so, and is ready by itself later', async (_, leave, come) => {
      await leave();
      expect(await start()).toBeLessThan(QUERY_TIMEOUT_MS);
      expect([503, 504]).toContain((await ask('/v1/team')).status);
      expect([(await health('live', url)).status, (await health('ready', url)).status]).toEqual([200, 503]);
      await come();
      await eventually(async () => (await health('ready', url)).status === 200);
      for (const [index, { path }] of stand.operations.entries())
        expect(await ask(path)).toMatchObject({ status: 200, text: whole[index] });
    });

    it.each([
      ['the password is wrong', { CLICKHOUSE_PASSWORD: 'wrong' }],
      ['the database is not there', { CLICKHOUSE_DATABASE: 'nowhere' }],
    ])('and %s, it says 503 and nothing else', async (_, env) => {
      await start(env);
      expect(await ask('/v1/team')).toMatchObject({
        status: 503,
        text: '{"detail":"Service temporarily unavailable"}',
      });
      expect((await health('ready', url)).status).toBe(503);
    });
  });
});
