import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { AlertRunner } from '../../src/alerts/alert-runner.js';
import { AlertStore, type StoredMessage } from '../../src/alerts/alert-store.js';
import { createMeasuringServices } from '../../src/alerts/measuring.module.js';
import { isPublic, send } from '../../src/alerts/send.js';
import { RECEIVERS, toStored } from '../../src/alerts/rules-file.js';
import type { Alert } from '../../src/api/alerts/alerts.dto.js';
import { RULE } from '../../src/api/alerts/rule.js';
import { Config } from '../../src/config/config.js';
import { EMPTY_CAPTURE } from '../../src/records/capture.js';
import { LocalCoordinator } from '../../src/coordination/writer-coordinator.js';
import { DoctorRepository } from '../../src/ops/doctor/doctor.repository.js';
import type { RequestRecord } from '../../src/records/request-record.js';
import { ALL_SCOPES } from '../../src/platform/http/account.js';
import { PinoLogger } from '../../src/telemetry/logger.js';
import { Telemetry } from '../../src/telemetry/telemetry.js';
import { TestApp, WITHOUT_CACHE } from '../setup/app.js';
import { holdClock, releaseClock } from '../setup/clock.js';
import { Tenant } from '../setup/tenant.js';
import { type Received, WebhookReceiver } from '../setup/webhook-receiver.js';

const MINUTE_MS = 60_000;
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

describe('alerts', () => {
  let app: TestApp;
  let services: Awaited<ReturnType<typeof createMeasuringServices>>;
  let tenant: Tenant;
  let receiver: WebhookReceiver;
  let coordinator: LocalCoordinator;
  let runners: AlertRunner[];
  let now: number;

  const configure = (env: NodeJS.ProcessEnv = {}) =>
    new Config({
      ...{ CACHE_TTL_MS: '0', ALERT_GRACE_SECONDS: '0', ALERT_ALLOW_PRIVATE: 'on' },
      ...{ ALERT_WEBHOOK_SECRET: SECRET, ALERT_DASHBOARD_URL: 'https://analytics.example.com/a' },
      ...env,
    });
  const createRunner = (env?: NodeJS.ProcessEnv, locks = coordinator) => {
    const runner = new AlertRunner(app.store, services, locks, configure(env));
    runners.push(runner);
    return runner;
  };
  /** A minute later, with requests of that minute; each process looks what is due. */
  const pass = async (requests: Partial<RequestRecord>[] = [], all = runners) => {
    await tenant.write(...requests.map((request) => ({ timestamp: now + 1_000, ...request })));
    now = holdClock(now + MINUTE_MS);
    for (const runner of all) {
      await runner.tick();
      await runner.settle();
    }
  };
  const failures = Array.from({ length: 10 }, () => ({ status_code: 500 }));
  const successes = Array.from({ length: 10 }, () => ({ status_code: 200 }));
  const createRule = (rule: object = {}, name = 'errors', receivers: object = { webhook: receiver.url }) =>
    app.alerts.create(
      { app: tenant.appId },
      name,
      { metric: 'error_rate', value: 0.5, window: '1m', ...rule },
      receivers,
    );
  /** Many rules by one write: a command reads what there is before each. */
  const createRules = (rules: Record<string, object>) => {
    const receivers = RECEIVERS.parse({ webhook: receiver.url });
    const stored = Object.entries(rules).map(([name, rule]) => {
      const parsed = RULE.parse({ metric: 'error_rate', value: 0.5, window: '1m', ...rule });
      return toStored(tenant.teamId, { app: tenant.appId, name, rule: parsed, receivers }, 'command');
    });
    return new AlertStore(app.store).saveRules(stored);
  };
  const listAlerts = async (key = tenant.key) => {
    const { body, status } = await app.get(`/v1/apps/${tenant.appId}/alerts`, key);
    expect(status).toBe(200);
    return (body as { data: Alert[] }).data;
  };

  beforeAll(async () => {
    app = await TestApp.start(WITHOUT_CACHE);
    services = await createMeasuringServices(
      {
        config: configure(),
        store: app.store,
        telemetry: Telemetry.none,
      },
      new PinoLogger(pino({ level: 'silent' })),
    );
  });
  afterAll(async () => {
    await services.close();
    await app.stop();
  });
  beforeEach(async () => {
    now = holdClock(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS);
    tenant = await Tenant.create(app);
    receiver = await WebhookReceiver.start();
    coordinator = new LocalCoordinator();
    runners = [];
  });
  afterEach(async () => {
    for (const runner of runners) await runner.stop();
    await app.store.command('TRUNCATE TABLE alert_rules_v1');
    await app.store.command('TRUNCATE TABLE alert_states_v1');
    await app.store.command('TRUNCATE TABLE alert_messages_v1');
    await receiver.stop();
    releaseClock();
  });

  it('tells a fault once, and its end once, though the first of two processes stops in between', async () => {
    const [first, second] = [createRunner(), createRunner()];
    await createRule();
    await pass(successes);
    expect(receiver.told).toEqual([]);
    await pass(failures);
    await pass(failures);
    expect(receiver.told).toEqual(['errors firing']);
    await first.stop();
    await pass(failures, [second]);
    await pass(successes, [second]);
    await pass(successes, [second]);
    expect(receiver.told).toEqual(['errors firing', 'errors resolved']);
    const [firing, resolved] = receiver.bodies.map(({ alerts }) => alerts[0]!);
    expect(resolved!.fingerprint).toBe(firing!.fingerprint);
    expect(resolved!.startsAt).toBe(firing!.startsAt);
    expect(Date.parse(resolved!.endsAt) - Date.parse(resolved!.startsAt)).toBe(3 * MINUTE_MS);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(2);
  });

  it.each(['saveMessages', 'saveStates'] as const)(
    'tells it once if the process dies before %s, or right behind it',
    async (step) => {
      const [first, second] = [createRunner(), createRunner(undefined, new LocalCoordinator())];
      await createRule();
      await pass(successes, [first]);
      const save = Reflect.get(AlertStore.prototype, step) as (rows: readonly object[]) => Promise<void>;
      for (const isSaved of [false, true]) {
        const spied = jest.spyOn(
          AlertStore.prototype as unknown as Record<string, (rows: readonly object[]) => Promise<void>>,
          step,
        );
        spied.mockImplementationOnce(async function (this: unknown, rows) {
          if (isSaved) await save.call(this as AlertStore, rows);
          throw new Error('the process died');
        });
        await pass(isSaved ? successes : failures, [first]);
        spied.mockRestore();
        await second.tick();
        await second.settle();
      }
      await pass(successes, [second]);
      expect(receiver.told).toEqual(['errors firing', 'errors resolved']);
    },
  );

  it('is in the form of the webhook of Alertmanager, signed as Standard Webhooks', async () => {
    createRunner();
    await createRule({ severity: 'critical', env: 'prod' });
    await pass(failures);
    const [{ headers, body }] = receiver.received as [Received];
    expect(JSON.parse(body)).toEqual({
      version: '4',
      groupKey: `{}:{team_id="${tenant.teamId}"}`,
      truncatedAlerts: 0,
      status: 'firing',
      receiver: 'request-analytics',
      groupLabels: { team_id: String(tenant.teamId) },
      commonLabels: expect.objectContaining({ alertname: 'errors' }) as object,
      commonAnnotations: expect.any(Object) as object,
      externalURL: 'https://analytics.example.com/a',
      alerts: [
        {
          status: 'firing',
          labels: {
            alertname: 'errors',
            severity: 'critical',
            team_id: String(tenant.teamId),
            app_id: String(tenant.appId),
            app: 'Shop',
            env: 'prod',
          },
          annotations: {
            summary: 'errors of Shop: error_rate (env prod) > 0.5 over 1m, value 1',
            condition: 'error_rate (env prod) > 0.5 over 1m',
            value: '1',
            transition_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
          },
          startsAt: new Date(now).toISOString(),
          endsAt: '0001-01-01T00:00:00Z',
          generatorURL: expect.stringContaining(
            `https://analytics.example.com/a/?app=${tenant.appId}&from=`,
          ) as string,
          fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
        },
      ],
    });
    const verifier = new Webhook(SECRET);
    expect(verifier.verify(body, headers as Record<string, string>)).toEqual(JSON.parse(body));
    expect(() => verifier.verify(`${body} `, headers as Record<string, string>)).toThrow();
  });

  it('links to the window in the dashboard, with the filters of the rule', async () => {
    createRunner();
    const rule = { metric: 'requests', value: 5, window: '10m', status: '5xx' };
    await createRule({ ...rule, env: 'prod', method: 'get', path: '/v1/*' });
    await createRule({ metric: 'new_errors', window: '10m' }, 'new');
    const exception = { type: 'KeyError', message: 'a', stacktrace: 'b' };
    const captured_json = JSON.stringify({
      ...EMPTY_CAPTURE,
      exception: { ...exception, tracker_event_id: null, sentry_event_id: null },
    });
    await pass(failures.map((failure) => ({ ...failure, method: 'GET', path: '/v1/items', captured_json })));
    const links = receiver.bodies[0]!.alerts.map(({ labels, generatorURL }) => {
      const { origin, pathname, searchParams } = new URL(generatorURL);
      return [labels.alertname, origin + pathname, Object.fromEntries(searchParams)];
    });
    const [from, to] = [now - 10 * MINUTE_MS, now].map((time) => new Date(time).toISOString());
    const window = { app: String(tenant.appId), from, to };
    const page = 'https://analytics.example.com/a/';
    expect(links).toEqual([
      ['errors', page, { ...window, env: 'prod', method: 'GET', path: '/v1/*', status: '5xx' }],
      ['new', page, { ...window, view: 'errors' }],
    ]);
  });

  it('sends again with growing pauses and the same identity while a receiver fails', async () => {
    const runner = createRunner();
    await createRule();
    receiver.status = 503;
    await pass(failures);
    const start = now;
    for (let second = 0; second < 600; second += 5) {
      now = holdClock(start + second * 1_000);
      await runner.tick();
      await runner.settle();
    }
    const countFiring = () =>
      receiver.received.filter(({ body }) => body.includes('"status":"firing"')).length;
    const failed = countFiring();
    expect(failed).toBeGreaterThan(3);
    expect(failed).toBeLessThan(10);
    receiver.status = 200;
    now = holdClock(start + 1_200_000);
    await runner.tick();
    await runner.settle();
    const firing = receiver.received.filter(({ body }) => body.includes('"status":"firing"'));
    expect(new Set(firing.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(firing.map(({ body }) => body)).size).toBe(1);
    const before = countFiring();
    now = holdClock(start + 7_200_000);
    await runner.tick();
    await runner.settle();
    expect(countFiring()).toBe(before);
  });

  it('gives a message up after a day, and doctor says so', async () => {
    const runner = createRunner();
    await createRule();
    receiver.status = 500;
    await pass(failures);
    for (let hour = 1; hour < 28; hour++) {
      now = holdClock(now + 60 * MINUTE_MS);
      await runner.tick();
      await runner.settle();
    }
    const states = await app.store.rows<{ state: string; error: string }>(
      'test.messages',
      'SELECT toString(state) AS state, error FROM alert_messages_v1 FINAL ORDER BY created_at',
    );
    expect(states[0]).toEqual({ state: 'failed', error: 'status 500' });
    const failed = await new DoctorRepository(app.store).findFailedAlerts();
    expect(failed).toEqual([
      expect.objectContaining({ team_id: tenant.teamId, channel: 'webhook', error: 'status 500' }),
    ]);
  });

  it('groups a burst of 100 rules into one message', async () => {
    createRunner();
    await createRules(Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`rule ${index}`, {}])));
    await pass(failures);
    expect(receiver.received).toHaveLength(1);
    expect(receiver.bodies[0]!.alerts).toHaveLength(100);
  });

  it('measures rules with filters on the same fields by one query of 100, each by its own values', async () => {
    createRunner();
    const rule = { metric: 'requests', value: 2, env: 'prod' };
    await createRules(
      Object.fromEntries(
        Array.from({ length: 150 }, (_, index) => [`rule ${index}`, { ...rule, path: `/p/${index}` }]),
      ),
    );
    const query = jest.spyOn(services.metrics, 'query');
    await pass(
      Array.from({ length: 4 }, (_, index) => ({ path: `/p/${index < 3 ? 7 : 8}` })).concat(
        Array.from({ length: 3 }, () => ({ path: '/p/149' })),
      ),
    );
    expect(query).toHaveBeenCalledTimes(2);
    query.mockRestore();
    expect(receiver.told.sort()).toEqual(['rule 149 firing', 'rule 7 firing']);
    const listed = await listAlerts();
    expect(listed.find(({ name }) => name === 'rule 8')!.value).toBe(1);
    expect(listed.find(({ name }) => name === 'rule 9')!.value).toBe(0);
  });

  it('shows states and their history, to keys of the team alone', async () => {
    createRunner();
    await createRule({ for: 2 });
    expect(await listAlerts()).toMatchObject([
      { name: 'errors', state: 'no_data', since: null, history: [] },
    ]);
    await pass(successes);
    await pass(failures);
    await pass(failures);
    const [alert] = await listAlerts();
    expect(alert).toMatchObject({
      app_id: tenant.appId,
      condition: 'error_rate > 0.5 over 1m',
      rule: {
        ...{ metric: 'error_rate', op: 'gt', value: 0.5, compare: 'threshold', window_minutes: 1 },
        ...{ min_requests: 0, for: 2, timezone: 'UTC' },
      },
      severity: 'warning',
      receivers: ['webhook'],
      state: 'firing',
      since: new Date(now).toISOString(),
      value: 1,
      evaluated_at: new Date(now).toISOString(),
      muted_until: null,
    });
    expect(alert!.history.map(({ state }) => state)).toEqual(['firing', 'pending', 'ok']);
    for (const hidden of ['hidden', '127.0.0.1', 'example.com'])
      expect(JSON.stringify(alert)).not.toContain(hidden);
    const other = await Tenant.create(app);
    expect((await app.get(`/v1/apps/${tenant.appId}/alerts`, other.key)).status).toBe(404);
    expect((await app.get('/v1/alerts', other.key)).body).toEqual({ data: [] });
    const { key } = await app.admin.keys.create(tenant.teamId, {
      scopes: { ...ALL_SCOPES, consumer: 'anna' },
    });
    expect(await listAlerts(key)).toEqual([]);
    expect((await app.get('/v1/alerts', tenant.key)).body).toEqual({ data: await listAlerts() });
  });

  it('evaluates metrics, filters, changes to last week, new errors and silence', async () => {
    createRunner();
    const rules: Record<string, object> = {
      many: { metric: 'requests', value: 5 },
      'of-path': { metric: 'requests', value: 5, path: '/v1/*' },
      'of-other-path': { metric: 'requests', value: 0, path: '/v2/*' },
      'of-env': { metric: 'requests', value: 5, env: 'prod' },
      'of-other-env': { metric: 'requests', value: 0, env: 'staging' },
      'of-consumer': { metric: 'requests', value: 2, consumer: 'anna', window: '15m' },
      'of-group': { metric: 'requests', value: 2, group: 'gold', window: '15m' },
      'of-nobody': { metric: 'requests', value: 0, consumer: 'nobody' },
      'of-status': { metric: 'requests', value: 2, status: '4xx', method: 'get' },
      slow: { metric: 'response_time_p95', value: 700 },
      'too-few': { metric: 'error_rate', value: 0, min_requests: 50 },
      grown: { metric: 'requests', value: 1, compare: 'last_week' },
      'not-grown': { metric: 'requests', value: 10, compare: 'last_week' },
      silent: { metric: 'silence', window: '3m' },
      new: { metric: 'new_errors', window: '15m' },
    };
    await createRules(rules);
    await tenant.write(
      ...Array.from({ length: 3 }, () => ({ timestamp: now + 1_000 - 7 * 24 * 60 * MINUTE_MS })),
    );
    await pass(
      Array.from({ length: 12 }, (_, index) => ({
        path: '/v1/items',
        status_code: index < 4 ? 404 : 200,
        response_time_ms: 800,
        ...(index < 3 && { consumer: { identifier: 'anna', group: 'gold' } }),
      })),
    );
    const findFiring = async () =>
      (await listAlerts()).filter(({ state }) => state === 'firing').map(({ name }) => name);
    expect(await findFiring()).toEqual(
      ['many', 'of-path', 'of-env', 'of-consumer', 'of-group', 'of-status', 'slow', 'grown'].sort(),
    );
    const exception = {
      ...{ type: 'KeyError', message: 'a', stacktrace: 'b' },
      ...{ tracker_event_id: null, sentry_event_id: null },
    };
    const captured = { request_headers: [], response_headers: [], request_body_json: null };
    const more = { response_body_json: null, trace_id: null, exception, logs: [], spans: [] };
    await pass([{ status_code: 500, captured_json: JSON.stringify({ ...captured, ...more }) }]);
    const firing = await findFiring();
    expect(firing).toContain('new');
    expect(firing).not.toContain('silent');
    // Its data came before its clock was held.
    for (let minute = 0; minute < 5; minute++) await pass();
    expect(await findFiring()).toContain('silent');
    for (let minute = 0; minute < 15; minute++) await pass();
    expect(await findFiring()).toEqual(['silent']);
    const all = await listAlerts();
    expect(all.find(({ name }) => name === 'of-nobody')!.state).toBe('ok');
    expect(all.find(({ name }) => name === 'slow')!.state).toBe('no_data');
  });

  it('resolves what a deleted rule fired, tells nothing of a muted one, and refuses what is wrong', async () => {
    createRunner();
    await createRule();
    await createRule({}, 'quiet');
    await app.alerts.mute({ app: tenant.appId }, 'quiet', now + 60 * MINUTE_MS);
    await pass(failures);
    await app.alerts.delete({ app: tenant.appId }, 'errors');
    await pass(failures);
    await pass(failures);
    expect(receiver.told).toEqual(['errors firing', 'errors resolved']);
    expect((await listAlerts()).map(({ name, state }) => [name, state])).toEqual([['quiet', 'muted']]);
    const shown = await app.alerts.show({ app: tenant.appId }, 'quiet');
    expect(JSON.stringify(shown)).not.toContain('hidden-token');
    await expect(createRule({}, 'quiet')).rejects.toThrow('already');
    await expect(createRule({ metric: 'nothing' }, 'a')).rejects.toThrow('metric');
    await expect(createRule({}, 'a', {})).rejects.toThrow('receiver');
    await expect(createRule({}, 'a', { webhook: 'ftp://example.com' })).rejects.toThrow('https://');
    await expect(createRule({ unknown: 1 }, 'a')).rejects.toThrow('unknown');
    await expect(createRule({ for: 3, of: 2 }, 'a')).rejects.toThrow('of');
    for (const timezone of ['Mars/X', '+02:00', ''])
      await expect(createRule({ timezone }, 'a')).rejects.toThrow('timezone: must be an IANA timezone');
  });

  it('reads rules from a file, again at SIGHUP, and commands do not change them', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'alerts-'));
    try {
      const path = join(directory, 'alerts.yaml');
      writeFileSync(join(directory, 'url'), `${receiver.url}\n`);
      const write = (threshold: number, name = 'errors') => {
        writeFileSync(
          path,
          `rules:\n  - { app: ${tenant.appId}, name: ${name}, metric: error_rate, value: ${threshold}, window: 1m, webhook: '@${directory}/url' }\n`,
        );
      };
      write(0.5);
      const runner = createRunner({ ALERTS_FILE: path });
      runner.start();
      await pass(failures);
      expect(receiver.told).toEqual(['errors firing']);
      await expect(app.alerts.delete({ app: tenant.appId }, 'errors')).rejects.toThrow('ALERTS_FILE');
      write(0.9, 'others');
      process.emit('SIGHUP');
      await pass(failures);
      expect((await listAlerts()).map(({ name, condition }) => [name, condition])).toEqual([
        ['others', 'error_rate > 0.9 over 1m'],
      ]);
      writeFileSync(
        path,
        'rules:\n  - { app: 1, name: a, metric: nothing, webhook: "http://x/secret-path" }\n',
      );
      process.emit('SIGHUP');
      await pass(failures);
      expect(await listAlerts()).toHaveLength(1);
      expect(() => createRunner({ ALERTS_FILE: path })).toThrow(/ALERTS_FILE: rules\.0\.rule\.metric/);
      writeFileSync(path, 'rules: [');
      expect(() => createRunner({ ALERTS_FILE: path })).toThrow('ALERTS_FILE: cannot be read');
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('escapes names for Slack and Teams, and sends e-mails with one identity', async () => {
    createRunner();
    const name = '<!channel> @here *x* & [a](http://b)';
    await createRule({}, name, { slack: receiver.url });
    await createRule({}, name + '2', { teams: receiver.url });
    await pass(failures);
    const slack = receiver.received.map(({ body }) => body).find((body) => body.includes('mrkdwn'))!;
    expect(slack).not.toContain('<!channel>');
    expect(slack).not.toContain('@here');
    expect(JSON.parse(slack)).toMatchObject({ mrkdwn: false });
    const teams = receiver.received.map(({ body }) => body).find((body) => body.includes('AdaptiveCard'))!;
    expect(JSON.parse(teams)).toMatchObject({
      attachments: [{ content: { body: [{ type: 'RichTextBlock', inlines: [{ type: 'TextRun' }] }] } }],
    });
  });

  it('sends e-mails', async () => {
    const lines: string[] = [];
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.write('220 test ESMTP\r\n');
      let isData = false;
      let rest = '';
      socket.on('data', (chunk: Buffer) => {
        rest += chunk.toString();
        for (let end = rest.indexOf('\r\n'); end >= 0; end = rest.indexOf('\r\n')) {
          const line = rest.slice(0, end);
          rest = rest.slice(end + 2);
          lines.push(line);
          if (isData && line !== '.') continue;
          isData = line === 'DATA';
          if (isData) socket.write('354 go on\r\n');
          else if (line === 'QUIT') socket.end('221 bye\r\n');
          else socket.write('250 ok\r\n');
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      createRunner({ ALERT_SMTP_URL: `smtp://127.0.0.1:${port}`, ALERT_MAIL_FROM: 'alerts@example.com' });
      await createRule({}, 'errors', { email: 'ops@example.com' });
      await pass(failures);
      const text = lines.join('\n');
      expect(text).toMatch(/^RCPT TO:<ops@example.com>/m);
      expect(text).toMatch(/^Subject: \[FIRING\] errors \(Shop\)/m);
      expect(text).toMatch(/^Message-ID: <[0-9a-f-]{36}@request-analytics>/im);
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });
});

describe('the address of a webhook', () => {
  const message = (target: string): StoredMessage => ({
    team_id: 1,
    message_id: '00000000-0000-4000-8000-000000000000',
    created_at: 0,
    channel: 'webhook',
    target,
    transitions: [],
    alerts: '[]',
    attempts: 0,
    state: 'waiting',
    next_at: 0,
    error: '',
  });
  let receiver: WebhookReceiver;
  beforeAll(async () => {
    receiver = await WebhookReceiver.start();
  });
  afterAll(() => receiver.stop());

  const HOSTS = [
    ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '127.255.255.254', '0.0.0.0', '0'],
    ...['localhost', 'LOCALHOST', 'localhost.', '[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]'],
    ...['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', '192.0.0.192', '198.18.0.1'],
    ...['169.254.169.254', '[fd00:ec2::254]', '[fe80::1]', '[fc00::1]', '[::ffff:169.254.169.254]'],
    ...[
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '[::ffff:10.0.0.1]',
      '224.0.0.1',
      '255.255.255.255',
      '240.0.0.1',
    ],
    ...['[2001:db8::1]', '192.0.2.1'],
  ];
  it.each(HOSTS)('is not %s', async (host) => {
    const port = new URL(receiver.url).port;
    for (const scheme of ['http', 'https'])
      await expect(send(message(`${scheme}://${host}:${port}/`), new Config({}).alerts)).rejects.toThrow(
        // Not every resolver knows the name with the dot.
        host === 'localhost.' ? /not public|ENOTFOUND|EAI_AGAIN/ : 'not public',
      );
    expect(receiver.received).toEqual([]);
  });

  it('is public, if an address is one of the internet', () => {
    expect(['8.8.8.8', '2606:4700::1111', '172.32.0.1'].map(isPublic)).toEqual([true, true, true]);
    expect(['', 'example.com'].map(isPublic)).toEqual([false, false]);
  });

  it('is not followed to another one, and its answer is not repeated', async () => {
    const allowed = new Config({ ALERT_ALLOW_PRIVATE: 'on' }).alerts;
    receiver.status = 307;
    receiver.headers = { Location: 'http://169.254.169.254/latest' };
    await expect(send(message(receiver.url), allowed)).rejects.toThrow(
      'status 307: redirects are not followed',
    );
    const closed = message('http://127.0.0.1:1/secret-path');
    await expect(send(closed, allowed)).rejects.toThrow(/^ECONNREFUSED$/);
  });
});
