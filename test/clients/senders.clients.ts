import { eventually } from '../setup/eventually.js';
import { type Client, TestService } from '../collector/setup/collector.js';
import { HUB_SENDERS, INSTALLED_WITHIN_MS, SENDERS, SenderApp, hasProgram } from './senders.js';

/** How long an SDK may take to send what it has, on a busy machine. */
const SENT_WITHIN_MS = 90_000;
const [READS, WRITES, FAILURES] = [30, 7, 3];
const DEFAULT_ROUTES = { user: '/users/{id}', users: '/users', boom: '/boom' };

let service: TestService;

beforeAll(async () => {
  service = await TestService.start({ COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '20' });
});

afterAll(() => service.stop());

/** OpenTelemetry's standard variables, and those of the client libraries; everything is sent soon. */
async function variablesOf(client: Client): Promise<Record<string, string>> {
  const { token } = await service.api.admin.createWriteToken(client.tenant.appId);
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: service.collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${token}`,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=prod',
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_SEMCONV_STABILITY_OPT_IN: 'http',
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_LOGS_EXPORTER: 'otlp',
    OTEL_METRIC_EXPORT_INTERVAL: '5000',
    OTEL_METRIC_EXPORT_TIMEOUT: '5000',
    OTEL_BSP_SCHEDULE_DELAY: '500',
    OTEL_BLRP_SCHEDULE_DELAY: '500',
    APITALLY_OTLP_ENDPOINT: service.collector.url,
    APITALLY_WRITE_TOKEN: token,
    APITALLY_HUB_BASE_URL: service.collector.url,
    CLIENT_ID: client.clientId,
  };
}

async function countByEndpoint({ tenant }: Client): Promise<Record<string, number>> {
  const rows = await tenant.metrics({
    since: '2025-01-01',
    metrics: ['requests', 'response_time_p50'],
    group_by: ['method', 'path', 'status_code'],
  });
  return Object.fromEntries(
    rows
      .filter(({ path, status_code }) => path !== null && status_code !== 404)
      .map(({ method, path, status_code, requests }) => [
        `${String(method)} ${String(path)} ${String(status_code)}`,
        Number(requests),
      ]),
  );
}

async function load(app: SenderApp): Promise<void> {
  for (let at = 0; at < READS; at++)
    expect(await app.call('/users/7?full=1', { headers: { 'x-user': 'bob' } })).toBe(200);
  for (let at = 0; at < WRITES; at++)
    expect(
      await app.call('/users', {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': 'application/json' },
      }),
    ).toBe(201);
  for (let at = 0; at < FAILURES; at++) expect(await app.call('/boom')).toBe(500);
}

for (const sender of [...SENDERS, ...HUB_SENDERS]) {
  const isHere = hasProgram(sender.needs);
  if (!isHere) process.stderr.write(`skipped: ${sender.name}, because ${sender.needs} is not here\n`);
  (isHere ? describe : describe.skip)(sender.name, () => {
    const app = new SenderApp(sender);
    const { user, users, boom } = sender.routes ?? DEFAULT_ROUTES;
    const expected = {
      [`GET ${user} 200`]: READS,
      [`POST ${users} 201`]: WRITES,
      [`GET ${boom} 500`]: FAILURES,
    };

    let isInstalled = false;

    beforeAll(() => {
      isInstalled = app.install();
      if (!isInstalled) process.stderr.write(`skipped: ${sender.name}, because its registry is away\n`);
    }, INSTALLED_WITHIN_MS);

    afterEach(() => app.stop());

    afterAll(() => {
      app.remove();
    });

    it(
      'returns the requests that were made, in all operations',
      async () => {
        if (!isInstalled) return;
        const client = await service.tenant();
        await app.start(await variablesOf(client));
        await load(app);
        await eventually(async () => {
          const counts = await countByEndpoint(client);
          return Object.values(counts).reduce((sum, n) => sum + n, 0) >= READS + WRITES + FAILURES;
        }, SENT_WITHIN_MS);
        expect(await countByEndpoint(client)).toEqual(expected);

        const apps = await service.api.get('/v1/apps', client.tenant.key);
        expect(apps.body.data[0].envs).toMatchObject([{ name: 'prod' }]);
        if (sender.sends.framework !== 'unknown')
          expect(apps.body.data[0].framework).toBe(sender.sends.framework);
        const traffic = await client.tenant.traffic({ interval: 'day' });
        const requests = traffic.data.reduce((sum, period) => sum + period.requests, 0);
        expect(requests).toBeGreaterThanOrEqual(READS + WRITES + FAILURES);

        await eventually(
          async () => (await client.tenant.logs({ limit: 1000, path: user })).data.length >= READS,
          SENT_WITHIN_MS,
        );
        const [log] = (await client.tenant.logs({ path: user, method: 'GET', status_code: '200' })).data;
        expect(log).toMatchObject({ method: 'GET', path: user, status_code: 200 });
        expect(log!.url).toContain('/users/7');
        if (sender.sends.consumer) expect(log!.consumer).toBe('bob');
        const details = await client.tenant.get(`request-logs/${log!.request_uuid}`);
        if (!sender.isHub) expect(details.body.trace_id).toMatch(/^[0-9a-f]{32}$/);
        const names = details.body.spans.map(({ name }: { name: string }) => name);
        if (sender.sends.span) expect(names).toContain('load user');
        if (sender.sends.log)
          await eventually(async () => {
            const { body } = await client.tenant.get(`request-logs/${log!.request_uuid}`);
            return body.logs.some(({ message }: { message: string }) => message === 'loading 7');
          }, SENT_WITHIN_MS);
        const [failed] = (await client.tenant.logs({ path: boom, status_code: '500' })).data;
        const failure = await client.tenant.get(`request-logs/${failed!.request_uuid}`);
        if (sender.sends.exception)
          expect(failure.body.exception).toMatchObject({
            type: expect.stringContaining('TypeError'),
            message: 'no luck',
          });
        if (sender.isHub) return;
        const spans = await client.tenant.post('traces', {
          filters: [{ field: 'trace_id', op: 'eq', value: details.body.trace_id }],
        });
        expect(spans.text.split('\n').length - 1).toBeGreaterThanOrEqual(details.body.spans.length);
      },
      4 * SENT_WITHIN_MS,
    );

    (sender.isHub ? it.skip : it)(
      'counts all requests where one trace in ten is kept',
      async () => {
        if (!isInstalled) return;
        const client = await service.tenant();
        const sampled = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1' };
        await app.start({ ...(await variablesOf(client)), ...sampled });
        await load(app);
        await eventually(async () => {
          const counts = await countByEndpoint(client);
          return Object.values(counts).reduce((sum, n) => sum + n, 0) >= READS + WRITES + FAILURES;
        }, SENT_WITHIN_MS);
        expect(await countByEndpoint(client)).toEqual(expected);
      },
      4 * SENT_WITHIN_MS,
    );
  });
}
