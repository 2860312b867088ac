import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { AlertRunner } from '../../src/alerts/alert-runner.js';
import { AlertStore } from '../../src/alerts/alert-store.js';
import { writeMail } from '../../src/alerts/messages.js';
import { createMeasuringServices } from '../../src/alerts/measuring.module.js';
import type { AlertList } from '../../src/api/alerts/alerts.dto.js';
import { PRESETS } from '../../src/api/alerts/presets.js';
import type { ExplainedChange } from '../../src/api/changes/changes.dto.js';
import { Config } from '../../src/config/config.js';
import { LocalCoordinator } from '../../src/coordination/writer-coordinator.js';
import type { RequestRecord } from '../../src/records/request-record.js';
import { PinoLogger } from '../../src/telemetry/logger.js';
import { Telemetry } from '../../src/telemetry/telemetry.js';
import { TestApp, WITHOUT_CACHE } from '../setup/app.js';
import { holdClock, releaseClock } from '../setup/clock.js';
import { eventually } from '../setup/eventually.js';
import { Tenant } from '../setup/tenant.js';
import { WebhookReceiver } from '../setup/webhook-receiver.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** Rows of the outbox are kept for a week, so the tests look a week ahead. 1970-01-05 was a Monday. */
const MONDAY = Math.ceil((Date.now() - 4 * DAY_MS) / WEEK_MS) * WEEK_MS + 4 * DAY_MS;
const DUE = MONDAY + 9 * HOUR_MS;
const EVIL = '<!channel> @here [x](http://b)\u202e\n*y*';

describe('weekly digests', () => {
  let app: TestApp;
  let services: Awaited<ReturnType<typeof createMeasuringServices>>;
  let tenant: Tenant;
  let receiver: WebhookReceiver;
  let coordinator: LocalCoordinator;
  let runners: AlertRunner[];

  const configure = (env: NodeJS.ProcessEnv = {}) =>
    new Config({
      ...{ CACHE_TTL_MS: '0', ALERT_GRACE_SECONDS: '0', ALERT_ALLOW_PRIVATE: 'on' },
      ...{ ALERT_DASHBOARD_URL: 'https://analytics.example.com' },
      ...env,
    });
  const createRunner = (env?: NodeJS.ProcessEnv, locks = coordinator) => {
    const runner = new AlertRunner(app.store, services, locks, configure(env));
    runners.push(runner);
    return runner;
  };
  /** Each process looks what is due at a time; the second time it sends what it composed at the first. */
  const passTo = async (at: number, all = runners) => {
    holdClock(at);
    for (const runner of [...all, ...all]) {
      await runner.tick();
      await runner.settle();
    }
  };
  const createDigest = (rule: object = {}, place: object = { app: tenant.appId }, receivers?: object) =>
    app.alerts.create(
      place,
      'weekly',
      { ...PRESETS.weekly, ...rule },
      receivers ?? { webhook: receiver.url },
    );
  const build = (at: number, count: number, request: Partial<RequestRecord>, identifier?: string) =>
    Array.from({ length: count }, () => ({
      timestamp: at,
      ...request,
      consumer: identifier === undefined ? null : { identifier },
    }));

  beforeAll(async () => {
    app = await TestApp.start(WITHOUT_CACHE);
    services = await createMeasuringServices(
      { config: configure(), store: app.store, telemetry: Telemetry.none },
      new PinoLogger(pino({ level: 'silent' })),
    );
  });
  afterAll(async () => {
    await services.close();
    await app.stop();
  });
  beforeEach(async () => {
    holdClock(DUE - HOUR_MS);
    tenant = await Tenant.create(app);
    receiver = await WebhookReceiver.start();
    coordinator = new LocalCoordinator();
    runners = [];
  });
  afterEach(async () => {
    for (const runner of runners) await runner.stop();
    for (const table of ['alert_rules_v1', 'alert_states_v1', 'alert_messages_v1'])
      await app.store.command(`TRUNCATE TABLE ${table}`);
    await receiver.stop();
    releaseClock();
  });

  /** A week with a slow new endpoint, failures, new consumers and one that is quiet. */
  const writeWeeks = async () => {
    const [week, before] = [MONDAY - 3 * DAY_MS, MONDAY - 10 * DAY_MS];
    const items = { method: 'GET', path: '/v1/items', status_code: 200, response_time_ms: 100 };
    await tenant.write(
      ...build(MONDAY - 17 * DAY_MS, 1, items, 'dora'),
      ...build(MONDAY - 17 * DAY_MS, 1, items, 'eve'),
      ...build(before, 10, items, 'anna'),
      ...build(before, 4, items, 'bob'),
      ...build(week, 20, items, 'anna'),
      ...build(week, 2, items, 'dora'),
      ...build(week, 5, { ...items, status_code: 500 }),
      ...build(week, 6, { ...items, path: '/v1/<slow>', response_time_ms: 900 }, 'carl'),
      ...build(week, 1, items, EVIL),
      ...build(week, 50, { ...items, path: '/health' }, 'probe'),
      // Not in the week.
      ...build(MONDAY, 7, items, 'late'),
    );
    await tenant.exclude('GET', '/health');
  };
  const readAnnotations = () => receiver.bodies[0]!.alerts[0]!.annotations;

  it('have the numbers of Query Metrics, Explain Change and List Consumers', async () => {
    createRunner();
    await writeWeeks();
    await createDigest();
    await passTo(DUE - MINUTE_MS);
    expect(receiver.received).toEqual([]);
    await passTo(DUE);
    expect(receiver.received).toHaveLength(1);
    const annotations = readAnnotations();
    const read = async (from: number) => {
      const metrics = ['requests', 'client_errors', 'server_errors', 'error_rate', 'response_time_p95'];
      const [since, until] = [from, from + WEEK_MS].map((at) => new Date(at).toISOString());
      const [row] = await tenant.metrics({ since, until, metrics });
      return row!;
    };
    const [now, before] = [await read(MONDAY - WEEK_MS), await read(MONDAY - 2 * WEEK_MS)];
    expect(annotations).toMatchObject({
      requests: String(now.requests),
      errors: String(Number(now.client_errors) + Number(now.server_errors)),
      error_rate: String(now.error_rate),
      response_time_p95: String(now.response_time_p95),
      requests_before: String(before.requests),
      errors_before: '0',
      error_rate_before: '0',
      response_time_p95_before: String(before.response_time_p95),
      // Those of the excluded endpoint do not count.
      new_consumers: '2',
      quiet_consumers: '1',
    });
    expect(annotations).toMatchObject({ requests: '34', errors: '5', requests_before: '14' });
    const lines = annotations.description!.split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'Requests: 34 (+143 %), the week before 14',
        'Errors: 5 errors (14.7 %); the week before 0 errors (0 %)',
        'New consumers: 2 (carl, <!channel> @here [x](http://b)  *y*)',
        'Consumers without requests, unlike the week before: 1 (bob)',
      ]),
    );
    for (const [measure, label, unit] of [
      ['requests', 'Requests', ''],
      ['errors', 'Errors', ''],
      ['response_time', '95th percentiles', ' ms'],
    ] as const) {
      const { body } = await tenant.post('changes', {
        measure,
        since: new Date(MONDAY - WEEK_MS).toISOString(),
        until: new Date(MONDAY).toISOString(),
        limit: 3,
      });
      const moves = (body as ExplainedChange).data
        .filter(({ dimension }) => dimension === 'endpoint')
        .map(({ method, path, now: to, before: from }) => {
          const [old, latest] = [from, to].map((value) => (value === null ? 'none' : `${value}${unit}`));
          return `${method} ${path} from ${old} to ${latest}`;
        });
      expect(moves).not.toEqual([]);
      expect(lines).toContain(`${label} that changed most: ${moves.join('; ')}`);
    }
  });

  it('are told once a week in one message for all apps, though the first of two processes stops', async () => {
    const [first, second] = [createRunner(), createRunner()];
    await tenant.sibling();
    await createDigest({}, { team: tenant.teamId });
    await passTo(DUE - MINUTE_MS);
    await passTo(DUE);
    await passTo(DUE + MINUTE_MS);
    await first.stop();
    await passTo(DUE + 2 * MINUTE_MS, [second]);
    await passTo(DUE + 6 * DAY_MS, [second]);
    expect(receiver.received).toHaveLength(1);
    const [body] = receiver.bodies;
    expect(body).toMatchObject({ status: 'resolved', groupLabels: { digest: 'weekly' } });
    expect(body!.alerts.map(({ labels }) => labels.app).sort()).toEqual(['Other shop', 'Shop']);
    expect(body!.alerts[0]).toMatchObject({
      labels: { alertname: 'weekly', severity: 'info', digest: 'weekly' },
      startsAt: new Date(MONDAY - WEEK_MS).toISOString(),
      endsAt: new Date(MONDAY).toISOString(),
    });
    await passTo(DUE + WEEK_MS, [second]);
    expect(receiver.received).toHaveLength(2);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(2);
  });

  it.each(['saveStates', 'saveMessages'] as const)(
    'are told once if the process dies before %s, or right behind it',
    async (step) => {
      const [first, second] = [createRunner(), createRunner(undefined, new LocalCoordinator())];
      await createDigest();
      await passTo(DUE - MINUTE_MS, [first]);
      const save = Reflect.get(AlertStore.prototype, step) as (rows: readonly object[]) => Promise<void>;
      for (const [week, isSaved] of [false, true].entries()) {
        const spied = jest.spyOn(
          AlertStore.prototype as unknown as Record<string, (rows: readonly object[]) => Promise<void>>,
          step,
        );
        spied.mockImplementationOnce(async function (this: unknown, rows) {
          if (isSaved) await save.call(this as AlertStore, rows);
          throw new Error('the process died');
        });
        holdClock(DUE + week * WEEK_MS);
        await first.tick();
        await first.settle();
        spied.mockRestore();
        await passTo(DUE + week * WEEK_MS, [second]);
        expect(receiver.received).toHaveLength(week + 1);
      }
    },
  );

  it('are read again with the next evaluation if the store failed, and delay no alert', async () => {
    const runner = createRunner();
    await writeWeeks();
    await createDigest();
    await app.alerts.create(
      { app: tenant.appId },
      'many',
      { metric: 'requests', value: -1 },
      { webhook: receiver.url },
    );
    const explain = jest.spyOn(services.changes, 'explain').mockRejectedValueOnce(new Error('no store'));
    await passTo(DUE - MINUTE_MS);
    expect(receiver.told).toEqual(['many firing']);
    await passTo(DUE);
    expect(explain).toHaveBeenCalledTimes(1);
    expect(receiver.told).toEqual(['many firing']);
    // A store that hangs holds up the digest alone.
    const hanging = new EventEmitter();
    explain.mockImplementationOnce(() =>
      once(hanging, 'end').then(() => Promise.reject(new Error('no store'))),
    );
    holdClock(DUE + MINUTE_MS);
    await runner.tick();
    await eventually(() => explain.mock.calls.length === 2);
    await app.alerts.delete({ app: tenant.appId }, 'many');
    holdClock(DUE + 2 * MINUTE_MS);
    await runner.tick();
    await eventually(() => receiver.told.includes('many resolved'));
    hanging.emit('end');
    await runner.settle();
    explain.mockRestore();
    await passTo(DUE + 3 * MINUTE_MS);
    expect(receiver.told).toEqual(['many firing', 'many resolved', 'weekly resolved']);
  });

  it('are told late, once, when no process ran or nothing could be told', async () => {
    const runner = createRunner();
    await createDigest({ quiet: '08:00-12:00' });
    await passTo(DUE - HOUR_MS);
    await passTo(DUE);
    expect(receiver.received).toEqual([]);
    await passTo(DUE + 3 * HOUR_MS);
    expect(receiver.received).toHaveLength(1);
    await app.alerts.mute({ app: tenant.appId }, 'weekly', DUE + WEEK_MS + 2 * DAY_MS);
    await passTo(DUE + WEEK_MS + 4 * HOUR_MS);
    expect(receiver.received).toHaveLength(1);
    // The end of a mute is a change of the rule, but not of what it says.
    await app.alerts.mute({ app: tenant.appId }, 'weekly', 0);
    await passTo(DUE + WEEK_MS + 5 * HOUR_MS);
    expect(receiver.received).toHaveLength(2);
    await runner.stop();
    // No process runs for three weeks and a day: only the last week is told.
    const next = createRunner();
    await passTo(DUE + 4 * WEEK_MS + DAY_MS + 4 * HOUR_MS, [next]);
    await passTo(DUE + 4 * WEEK_MS + 2 * DAY_MS + 4 * HOUR_MS, [next]);
    expect(receiver.received).toHaveLength(3);
    expect(receiver.bodies[2]!.alerts[0]!.endsAt).toBe(new Date(MONDAY + 4 * WEEK_MS).toISOString());
  });

  it('are not told of weeks before the rule, nor before its change', async () => {
    createRunner();
    holdClock(DUE + DAY_MS);
    await createDigest();
    await passTo(DUE + DAY_MS);
    await app.alerts.delete({ app: tenant.appId }, 'weekly');
    await passTo(DUE + WEEK_MS + HOUR_MS);
    await createDigest();
    await passTo(DUE + WEEK_MS + 2 * HOUR_MS);
    await passTo(DUE + WEEK_MS + 3 * HOUR_MS);
    expect(receiver.received).toEqual([]);
    await passTo(DUE + 2 * WEEK_MS);
    expect(receiver.received).toHaveLength(1);
  });

  it('come at the day and time of a rule, also of the file of rules', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'alerts-'));
    try {
      const path = join(directory, 'alerts.yaml');
      const rule = `{ app: ${tenant.appId}, name: digest, metric: weekly, day: tuesday, at: '23:15', timezone: Asia/Kolkata, env: prod, webhook: '${receiver.url}' }`;
      writeFileSync(path, `rules:\n  - ${rule}\n`);
      createRunner({ ALERTS_FILE: path });
      const due = MONDAY + DAY_MS + 17 * HOUR_MS + 45 * MINUTE_MS;
      await passTo(due - MINUTE_MS);
      expect(receiver.received).toEqual([]);
      await passTo(due);
      const [{ alerts }] = receiver.bodies as [(typeof receiver.bodies)[0]];
      expect(alerts[0]!.endsAt).toBe(new Date(MONDAY + DAY_MS - 5.5 * HOUR_MS).toISOString());
      expect(alerts[0]!.labels).toMatchObject({ env: 'prod' });
      const { body } = await app.get(`/v1/apps/${tenant.appId}/alerts`, tenant.key);
      expect((body as AlertList).data).toMatchObject([
        {
          name: 'digest',
          condition: 'digest of the week (env prod), each tuesday at 23:15 Asia/Kolkata',
          state: 'ok',
          since: new Date(due).toISOString(),
          value: null,
        },
      ]);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('are cut and escaped for each receiver', async () => {
    createRunner();
    await writeWeeks();
    await createDigest({}, undefined, {
      slack: receiver.url,
      teams: receiver.url,
      email: 'ops@example.com',
    });
    await passTo(DUE - MINUTE_MS);
    await passTo(DUE);
    const find = (text: string) =>
      receiver.received.map(({ body }) => body).find((body) => body.includes(text))!;
    const slack = JSON.parse(find('mrkdwn')) as { text: string };
    expect(slack.text).not.toMatch(/<|@(?!\u200b)|\u202e/);
    expect(slack.text).toContain('&lt;!channel&gt;');
    expect(slack.text).toContain('GET /v1/&lt;slow&gt; from 0 to 6');
    const card = JSON.parse(find('AdaptiveCard')) as {
      attachments: { content: { body: { type: string; inlines: { text: string }[] }[] } }[];
    };
    const { body } = card.attachments[0]!.content;
    expect(new Set(body.map(({ type }) => type))).toEqual(new Set(['RichTextBlock']));
    expect(body.map(({ inlines }) => inlines[0]!.text)).toContain(
      'Requests: 34 (+143 %), the week before 14',
    );
    const messages = await new AlertStore(app.store).findDueMessages(DUE + DAY_MS);
    const mail = writeMail(messages.find(({ channel }) => channel === 'email')!);
    expect(mail.subject).toBe('Weekly digest of Shop');
    expect(mail.text).toContain('Requests: 34 (+143 %), the week before 14\n');
    expect(mail.text).toContain('https://analytics.example.com/?app=');
  });

  it('are tested with the last week, before one is due', async () => {
    await writeWeeks();
    await createDigest();
    holdClock(DUE + MINUTE_MS);
    const open = () => Promise.resolve({ ...services, close: () => Promise.resolve() });
    const results = await app.alerts.test({ app: tenant.appId }, 'weekly', configure().alerts, open);
    expect(results).toEqual([
      { receiver: expect.stringMatching(/^webhook 127/) as string, delivered: true, error: null },
    ]);
    expect(readAnnotations()).toMatchObject({ requests: '34', new_consumers: '2' });
  });

  it('refuse what has no effect on them', async () => {
    for (const [rule, message] of [
      [{ value: 5 }, 'no limit'],
      [{ window: '1d' }, 'no limit'],
      [{ for: 2 }, 'no limit'],
      [{ path: '/v1/*' }, 'env alone'],
      [{ day: 'someday' }, 'day'],
      [{ at: '9:00' }, '09:00'],
      [{ metric: 'requests', day: 'monday' }, 'only weekly'],
    ] as const)
      await expect(createDigest(rule)).rejects.toThrow(message);
  });
});
