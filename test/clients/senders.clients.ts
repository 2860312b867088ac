import { eventually } from '../setup/eventually.js';
import { type Client, TestService } from '../collector/setup/collector.js';
import type { LogBody } from '../setup/tenant.js';
import { findObstacle } from './packages.js';
import { SENDERS, SenderApp } from './senders.js';

/** How long an SDK may take to send what it has, on a busy machine. */
const SENT_WITHIN_MS = 90_000;
const [READS, WRITES, FAILURES] = [30, 7, 3];
const ALL = READS + WRITES + FAILURES;
const DEFAULT_ROUTES = { user: '/users/{id}', users: '/users', boom: '/boom' };

let service: TestService;

beforeAll(async () => {
  service = await TestService.start({ COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '20' });
});

afterAll(() => service.stop());

/** OpenTelemetry's standard variables, and those of the client libraries; everything is sent soon. */
async function createVariables(client: Client): Promise<Record<string, string>> {
  const { token } = await service.api.admin.writeTokens.create(client.tenant.appId);
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
    OTEL_METRIC_EXPORT_INTERVAL: '2000',
    OTEL_METRIC_EXPORT_TIMEOUT: '2000',
    OTEL_BSP_SCHEDULE_DELAY: '500',
    OTEL_BLRP_SCHEDULE_DELAY: '500',
    APITALLY_OTLP_ENDPOINT: service.collector.url,
    APITALLY_WRITE_TOKEN: token,
    APITALLY_HUB_BASE_URL: service.collector.url,
    CLIENT_ID: client.clientId,
  };
}

/** Requests of request logs by method, route and status. */
function countLogs(logs: readonly LogBody[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { method, path, status_code } of logs) {
    const endpoint = `${method} ${path} ${status_code}`;
    counts[endpoint] = (counts[endpoint] ?? 0) + 1;
  }
  return counts;
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

for (const sender of SENDERS) {
  const obstacle = findObstacle(sender.packages);
  if (obstacle !== undefined) process.stderr.write(`skipped: ${sender.name}, because ${obstacle}\n`);
  (obstacle === undefined ? describe : describe.skip)(sender.name, () => {
    const app = new SenderApp(sender);
    const { user, users, boom } = sender.routes ?? DEFAULT_ROUTES;
    const expected = {
      [`GET ${user} 200`]: READS,
      [`POST ${users} 201`]: WRITES,
      [`GET ${boom} 500`]: FAILURES,
    };

    afterEach(() => app.stop());

    /**
     * Returns the requests of metrics by method, route and status once all are counted and have a response
     * time.
     */
    const waitForCounts = ({ tenant }: Client) =>
      eventually(async () => {
        const rows = await tenant.metrics({
          since: '2025-01-01',
          metrics: ['requests', 'response_time_p50'],
          group_by: ['method', 'path', 'status_code'],
        });
        // One insert fills the tables of counts and of bins one after the other.
        if (rows.some(({ response_time_p50 }) => response_time_p50 === null)) return false;
        if (rows.reduce((sum, { requests }) => sum + Number(requests), 0) < ALL) return false;
        return Object.fromEntries(
          rows.map(({ method, path, status_code, requests }) => [
            `${String(method)} ${String(path)} ${String(status_code)}`,
            Number(requests),
          ]),
        );
      }, SENT_WITHIN_MS);

    it(
      'returns the requests that were made, in all operations',
      async () => {
        const client = await service.tenant();
        const { tenant } = client;
        await app.start(await createVariables(client));
        // SDKs that count on from the start of their process are some milliseconds off.
        const from = Date.now() - 1000;
        await load(app);
        expect(await waitForCounts(client)).toEqual(expected);
        await eventually(async () => {
          const { data } = await tenant.traffic({ interval: 'day' });
          return data.reduce((sum, { requests }) => sum + requests, 0) === ALL;
        });

        await eventually(async () => (await tenant.logs({ limit: 1000 })).data.length >= ALL, SENT_WITHIN_MS);
        const { data: logged } = await tenant.logs({ limit: 1000 });
        // Some libraries note the time after the response was sent, so later than the client has it.
        const until = Date.now();
        expect(countLogs(logged)).toEqual(expected);
        for (const { timestamp } of logged) {
          expect(Date.parse(timestamp)).toBeGreaterThanOrEqual(from);
          expect(Date.parse(timestamp)).toBeLessThanOrEqual(until);
        }
        const exported = await tenant.post('request-logs', { since: '2025-01-01' });
        expect(exported.text.split('\n')).toHaveLength(ALL + 1);

        const { body: apps } = await service.api.get('/v1/apps', tenant.key);
        expect(apps.data[0].envs).toMatchObject([{ name: 'prod' }]);
        if (sender.sends.framework !== 'unknown') expect(apps.data[0].framework).toBe(sender.sends.framework);
        const { body: endpoints } = await tenant.get('endpoints');
        expect(endpoints.data).toEqual(
          expect.arrayContaining([
            expect.objectContaining({ method: 'GET', path: user }),
            expect.objectContaining({ method: 'POST', path: users }),
            expect.objectContaining({ method: 'GET', path: boom }),
          ]),
        );
        const { data: consumers } = await tenant.consumers();
        expect(consumers).toMatchObject([{ identifier: 'bob' }]);
        // The metrics of SDKs name no consumer: their spans do.
        await eventually(async () => {
          const { data } = await tenant.traffic({ interval: 'day', consumer_id: String(consumers[0]!.id) });
          return data.reduce((sum, { requests }) => sum + requests, 0) === READS;
        }, SENT_WITHIN_MS);

        const [log] = (await tenant.logs({ path: user, method: 'GET', status_code: '200' })).data;
        expect(log).toMatchObject({
          url: expect.stringMatching(sender.sends.query ? /\/users\/7\?full=1$/ : /\/users\/7$/),
          response_time_ms: expect.any(Number),
          consumer: 'bob',
        });
        const readDetails = async () => (await tenant.get(`request-logs/${log!.request_uuid}`)).body;
        const { trace_id, spans } = await readDetails();
        if (sender.sends.span) expect(spans.map(({ name }: { name: string }) => name)).toContain('load user');
        if (sender.sends.log)
          await eventually(async () => {
            const { logs } = await readDetails();
            return logs.some(({ message }: { message: string }) => message === 'loading 7');
          }, SENT_WITHIN_MS);
        const [failed] = (await tenant.logs({ path: boom, status_code: '500' })).data;
        const failure = await tenant.get(`request-logs/${failed!.request_uuid}`);
        expect(failure.body.exception).toMatchObject({
          type: expect.stringContaining(sender.sends.exception),
          message: 'no luck',
        });
        if (sender.isHub) return;
        expect(trace_id).toMatch(/^[0-9a-f]{32}$/);
        const ofTrace = await tenant.post('traces', {
          filters: [{ field: 'trace_id', op: 'eq', value: trace_id }],
        });
        expect(ofTrace.text.split('\n')).toHaveLength((spans as unknown[]).length + 1);
      },
      4 * SENT_WITHIN_MS,
    );

    if (sender.isHub) return;
    it(
      'counts all requests where one trace in ten is kept',
      async () => {
        const client = await service.tenant();
        const sampled = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1' };
        await app.start({ ...(await createVariables(client)), ...sampled });
        await load(app);
        expect(await waitForCounts(client)).toEqual(expected);
        // Of 40 traces, more than half are kept in one of 10^12 runs.
        expect((await client.tenant.logs({ limit: 1000 })).data.length).toBeLessThan(ALL / 2);
      },
      4 * SENT_WITHIN_MS,
    );
  });
}
