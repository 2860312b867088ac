import { Readable } from 'node:stream';
import { sizeDelimitedDecodeStream } from '@bufbuild/protobuf/wire';
import {
  type MetricFamily,
  MetricFamilySchema,
  MetricType,
} from '../../src/api/prometheus/generated/io/prometheus/client/metrics_pb.js';
import { findBin } from '../../src/records/bins.js';
import type { RequestRecord } from '../../src/records/request-record.js';
import { ALL_SCOPES } from '../../src/platform/http/account.js';
import { TestApp, WITHOUT_CACHE } from '../setup/app.js';
import { holdClock, releaseClock } from '../setup/clock.js';
import { type Query, Tenant } from '../setup/tenant.js';

/** No retention reaches it. */
const NOW = Date.UTC(2099, 4, 14, 9, 17, 23);
const DAY_MS = 86_400_000;
const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0';
const PROTOBUF = 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited';

describe('GET /v1/apps/{app_id}/prometheus', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start(WITHOUT_CACHE);
  });
  afterAll(() => app.stop());
  beforeEach(async () => {
    holdClock(NOW);
    tenant = await Tenant.create(app);
  });
  afterEach(releaseClock);

  const readText = async (path: string, query: Query = {}, key = tenant.key, accept = OPEN_METRICS) => {
    const { status, text, body } = await app
      .get(path, key, query)
      .set('Accept', accept)
      .buffer(true)
      .parse((response, done) => {
        let all = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (all += chunk));
        response.on('end', () => {
          done(null, all);
        });
      });
    const content = text || (body as string);
    expect([status, content]).toEqual([200, content]);
    return content;
  };

  /** Value by series, as `name{labels}`. */
  const parse = (text: string) =>
    new Map(
      text
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
        .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
    );

  const scrape = async (query: Query = {}, key = tenant.key) =>
    parse(await readText(`/v1/apps/${tenant.appId}/prometheus`, query, key));

  /** The families of a scrape by protobuf, by name. */
  const scrapeProtobuf = async (path = `/v1/apps/${tenant.appId}/prometheus`) => {
    const { status, body, headers } = await app
      .get(path, tenant.key)
      .set('Accept', PROTOBUF)
      .responseType('blob');
    expect([status, headers['content-type']]).toEqual([
      200,
      'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited',
    ]);
    const families = new Map<string, MetricFamily>();
    for await (const family of sizeDelimitedDecodeStream(MetricFamilySchema, Readable.from([body as Buffer])))
      families.set(family.name, family);
    return families;
  };

  /** Counts of the buckets of each native histogram, by index. */
  const readBuckets = ({ metric }: MetricFamily) =>
    metric.map(({ histogram }) => {
      const { positiveSpan, positiveDelta } = histogram!;
      let end = 0;
      let count = 0n;
      const deltas = positiveDelta.values();
      return new Map(
        positiveSpan.flatMap(({ offset, length }) => {
          const start = end + offset;
          end = start + length;
          return Array.from({ length }, (_, index) => {
            count += deltas.next().value!;
            return [start + index, Number(count)] as const;
          });
        }),
      );
    });

  const labels = (members: object) => {
    const pairs = Object.entries({ app_id: tenant.appId, ...members }) as [string, string | number][];
    return `{${pairs.map(([name, value]) => `${name}="${value}"`).join(',')}}`;
  };
  const OF_USERS = {
    deployment_environment_name: 'prod',
    http_request_method: 'GET',
    http_route: '/users/{id}',
    http_response_status_code: 200,
  };

  it('has counters and histograms by environment, method, route and status', async () => {
    await tenant.write(
      { response_time_ms: 5, request_size_bytes: 7 },
      { response_time_ms: 100, request_size_bytes: 100 },
      { response_time_ms: 101, request_size_bytes: 101 },
      { response_time_ms: 20_000, request_size_bytes: 20_000_000 },
      { path: null, status_code: 404, response_time_ms: 0 },
    );
    const found = await scrape();
    const time = 'http_server_request_duration_seconds';
    const bucket = (le: string) => found.get(`${time}_bucket${labels({ ...OF_USERS, le })}`);
    expect(found.get(`http_server_requests_total${labels(OF_USERS)}`)).toBe(4);
    expect(['0.005', '0.075', '0.1', '0.25', '10.0', '+Inf'].map(bucket)).toEqual([1, 1, 3, 3, 3, 4]);
    expect(found.get(`${time}_count${labels(OF_USERS)}`)).toBe(4);
    expect(found.get(`${time}_sum${labels(OF_USERS)}`)! / 20.206).toBeCloseTo(1, 1);
    const size = 'http_server_request_body_size_bytes';
    const sized = (le: string) => found.get(`${size}_bucket${labels({ ...OF_USERS, le })}`);
    expect(['100.0', '1000.0', '10000000.0', '+Inf'].map(sized)).toEqual([3, 3, 3, 4]);
    expect(found.get(`${size}_sum${labels(OF_USERS)}`)).toBe(20_000_208);
    expect(found.get(`http_server_response_body_size_bytes_sum${labels(OF_USERS)}`)).toBe(400);
    // Without a route there is no label for it.
    const unrouted = { deployment_environment_name: 'prod', http_response_status_code: 404 };
    expect(found.get(`http_server_requests_total${labels(unrouted)}`)).toBe(1);
    expect(found.get(`${time}_bucket${labels({ ...unrouted, le: '0.005' })}`)).toBe(1);
    expect(found.get(`request_analytics_app_info${labels({ app_name: 'Shop' })}`)).toBe(1);
    expect([...found.keys()].join('\n')).not.toContain('consumer');
  });

  it('says its format: OpenMetrics where it is accepted, as by Prometheus, else the older text format', async () => {
    await tenant.write({});
    const path = `/v1/apps/${tenant.appId}/prometheus`;
    const ofPrometheus =
      'application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.2,*/*;q=0.1';
    const lines = (await readText(path, {}, tenant.key, ofPrometheus)).split('\n');
    expect(lines.slice(-2)).toEqual(['# EOF', '']);
    expect(lines).toEqual(expect.arrayContaining(['# TYPE http_server_requests counter']));
    expect(lines).toContain('# UNIT http_server_request_duration_seconds seconds');
    const { text, headers } = await app.get(path, tenant.key);
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).toContain('# TYPE http_server_requests_total counter\n');
    expect(text).not.toContain('# EOF');
    expect(text).not.toContain('# UNIT');
    expect((await app.get(path, tenant.key).set('Accept', ofPrometheus)).headers['content-type']).toBe(
      'application/openmetrics-text; version=1.0.0; charset=utf-8',
    );
  });

  it('rises by what Query Metrics counts between two scrapes', async () => {
    const random = (index: number): Partial<RequestRecord> => ({
      env: ['prod', 'staging'][index % 2]!,
      path: `/items/${index % 7}`,
      status_code: [200, 200, 404, 500][index % 4]!,
      response_time_ms: (index * 37) % 3_000,
      response_size_bytes: index * 11,
      timestamp: NOW - (index % 50) * 60_000,
    });
    await tenant.write(
      ...Array.from({ length: 60 }, (_, index) => ({ ...random(index), timestamp: NOW - DAY_MS })),
    );
    const before = await scrape();
    await tenant.write(...Array.from({ length: 300 }, (_, index) => random(index)));
    const after = await scrape();
    const rows = await tenant.metrics({
      since: new Date(NOW - 3_600_000).toISOString(),
      metrics: ['requests', 'bytes_sent'],
      group_by: ['env', 'method', 'path', 'status_code'],
    });
    expect(rows.length).toBeGreaterThan(20);
    for (const { env, method, path, status_code, requests, bytes_sent } of rows) {
      const series = labels({
        deployment_environment_name: env,
        http_request_method: method,
        http_route: path,
        http_response_status_code: status_code,
      });
      const rise = (name: string) => after.get(name + series)! - (before.get(name + series) ?? 0);
      expect(rise('http_server_requests_total')).toBe(requests);
      expect(rise('http_server_request_duration_seconds_count')).toBe(requests);
      expect(rise('http_server_response_body_size_bytes_sum')).toBe(bytes_sent);
    }
  });

  it('never lets a series fall within a month: not when endpoints come, become busy, or beyond the routes', async () => {
    const lastMonth = NOW - 20 * DAY_MS;
    await tenant.write(
      ...Array.from({ length: 3 }, () => ({ path: '/old', timestamp: lastMonth })),
      { path: '/older', timestamp: lastMonth },
      { path: '/older', timestamp: lastMonth },
      { path: '/rare', timestamp: lastMonth },
    );
    let before = await scrape({ routes: 3 });
    const named = () => [...before.keys()].filter((key) => key.startsWith('http_server_requests_total'));
    expect(named().map((key) => before.get(key))).toEqual([0, 0, 0]);
    for (let round = 0; round < 5; round++) {
      await tenant.write(
        ...Array.from({ length: 20 }, (_, index) => ({
          path: ['/older', `/new/${round}`, `/busy/${index % 3}`][index % 3]!,
          response_time_ms: index * 13 + round,
          timestamp: NOW - round * DAY_MS,
        })),
      );
      const after = await scrape({ routes: 3 });
      for (const [series, value] of before)
        expect([series, after.get(series)! >= value]).toEqual([series, true]);
      before = after;
    }
    const routes = new Set(named().map((key) => /http_route="([^"]*)"/.exec(key)?.[1]));
    expect(routes).toEqual(new Set(['/old', '/older', '/rare', '_other']));
    const total = [...before].filter(([key]) => key.startsWith('http_server_requests_total'));
    expect(total.reduce((sum, [, value]) => sum + value, 0)).toBe(100);
  });

  it('begins at 0 with each month, with the series of the month before', async () => {
    await tenant.write({}, {});
    expect((await scrape()).get(`http_server_requests_total${labels(OF_USERS)}`)).toBe(2);
    holdClock(Date.UTC(2099, 5, 1));
    const found = await scrape();
    expect(found.get(`http_server_requests_total${labels(OF_USERS)}`)).toBe(0);
    expect(
      found.get(`http_server_request_duration_seconds_bucket${labels({ ...OF_USERS, le: '+Inf' })}`),
    ).toBe(0);
    holdClock(Date.UTC(2099, 6, 1));
    expect([...(await scrape()).keys()]).toEqual([expect.stringContaining('app_info')]);
  });

  it('leaves excluded endpoints out, and has the requests of one consumer alone for a key of it', async () => {
    await tenant.write(
      { path: '/secret' },
      { consumer: { identifier: 'anna' } },
      { consumer: { identifier: 'ben' } },
    );
    await tenant.exclude('GET', '/secret');
    const requests = `http_server_requests_total${labels(OF_USERS)}`;
    const found = await scrape();
    expect(found.get(requests)).toBe(2);
    expect([...found.keys()].join('\n')).not.toContain('secret');
    const { key } = await app.admin.keys.create(tenant.teamId, {
      scopes: { ...ALL_SCOPES, consumer: 'anna' },
    });
    expect((await scrape({}, key)).get(requests)).toBe(1);
  });

  it('has all apps of the team at /v1/prometheus, and no app of another team', async () => {
    const other = await Tenant.create(app);
    const sibling = await tenant.sibling();
    await tenant.write({});
    await sibling.write({}, {});
    await other.write({});
    const found = parse(await readText('/v1/prometheus'));
    const ids = [...found.keys()].map((key) => Number(/app_id="(\d+)"/.exec(key)?.[1]));
    expect(new Set(ids)).toEqual(new Set([tenant.appId, sibling.appId]));
    const { key } = await app.admin.keys.create(tenant.teamId, {
      scopes: { ...ALL_SCOPES, appIds: [sibling.appId] },
    });
    const narrowed = parse(await readText('/v1/prometheus', {}, key));
    expect([...narrowed.keys()].join('\n')).not.toContain(`app_id="${tenant.appId}"`);
    expect((await app.get(`/v1/apps/${other.appId}/prometheus`, tenant.key)).status).toBe(404);
  });

  it('escapes what applications send', async () => {
    await tenant.write({ path: '/a"b\\c\nd} 7 # {x="y' });
    const text = await readText(`/v1/apps/${tenant.appId}/prometheus`);
    expect(text).toContain(String.raw`http_route="/a\"b\\c\nd} 7 # {x=\"y"`);
    expect(text.split('\n').filter((line) => /^(?:d\}|7)/.test(line))).toEqual([]);
  });

  it.each([
    [PROTOBUF, 'application/vnd.google.protobuf'],
    [
      `${PROTOBUF};q=0.6,${OPEN_METRICS};q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2`,
      'application/vnd.google.protobuf',
    ],
    [
      `text/plain;version=0.0.4;q=0.3, ${OPEN_METRICS};q=0.5, ${PROTOBUF};q=0.4`,
      'application/openmetrics-text',
    ],
    [`${OPEN_METRICS};q=0.2,text/plain;q=0.3`, 'text/plain'],
    [`text/plain, ${OPEN_METRICS}, ${PROTOBUF}`, 'application/openmetrics-text'],
    [PROTOBUF.replace('delimited', 'text'), 'text/plain'],
    [`${PROTOBUF};q=0`, 'text/plain'],
    ['application/vnd.google.protobuf', 'text/plain'],
    ['*/*', 'text/plain'],
  ])('answers the Accept %j with %s', async (accept, type) => {
    const { headers } = await app
      .get(`/v1/apps/${tenant.appId}/prometheus`, tenant.key)
      .set('Accept', accept);
    expect(headers['content-type']?.split(';')[0]).toBe(type);
  });

  it('has native histograms of times in protobuf: each bin is two buckets, and zero is apart', async () => {
    const times = [0, 0, 1, 3, 3, 3, 4, 100, 101, 2_000, 60_000];
    await tenant.write(...times.map((response_time_ms) => ({ response_time_ms })));
    const families = await scrapeProtobuf();
    const family = families.get('http_server_request_duration_seconds')!;
    expect([family.type, family.unit, family.metric.length]).toEqual([MetricType.HISTOGRAM, 'seconds', 1]);
    const { histogram, label } = family.metric[0]!;
    expect(Object.fromEntries(label.map(({ name, value }) => [name, value]))).toEqual({
      app_id: String(tenant.appId),
      ...OF_USERS,
      http_response_status_code: '200',
    });
    expect(histogram).toMatchObject({ schema: 6, zeroCount: 2n, sampleCount: 11n });
    const [buckets] = readBuckets(family);
    const unexpected = new Map(buckets);
    for (const milliseconds of new Set(times.filter((time) => time > 0))) {
      const bin = findBin(milliseconds / 1_000);
      // Bounds of the two buckets, as Prometheus has them at this schema.
      expect(2 ** ((2 * bin - 1) / 64)).toBeLessThanOrEqual(milliseconds / 1_000);
      expect(2 ** ((2 * bin + 1) / 64)).toBeGreaterThanOrEqual(milliseconds / 1_000);
      const inBin = times.filter((time) => time > 0 && findBin(time / 1_000) === bin).length;
      expect([2 * bin, 2 * bin + 1].map((index) => buckets!.get(index))).toEqual([
        Math.floor(inBin / 2),
        Math.ceil(inBin / 2),
      ]);
      for (const index of [2 * bin, 2 * bin + 1]) unexpected.delete(index);
    }
    expect([...unexpected]).toEqual([]);
    // Other histograms are classic ones, and classic buckets are those of the text.
    expect(families.get('http_server_response_body_size_bytes')!.metric[0]!.histogram!.positiveSpan).toEqual(
      [],
    );
    const text = await scrape();
    for (const { name, metric } of families.values())
      for (const { upperBound, cumulativeCount } of metric[0]!.histogram?.bucket ?? []) {
        const le = upperBound === Infinity ? '+Inf' : upperBound % 1 === 0 ? `${upperBound}.0` : upperBound;
        expect(Number(cumulativeCount)).toBe(text.get(`${name}_bucket${labels({ ...OF_USERS, le })}`));
      }
    expect(families.get('http_server_requests_total')!.metric[0]!.counter!.value).toBe(11);
  });

  it('has a native histogram without requests in a new month, and buckets never fall within one', async () => {
    await tenant.write({ response_time_ms: 20 });
    let before = new Map<number, number>();
    for (let round = 0; round < 5; round++) {
      await tenant.write(
        ...Array.from({ length: 7 }, (_, index) => ({ response_time_ms: 19 + ((index * round) % 5) })),
      );
      const [buckets] = readBuckets((await scrapeProtobuf()).get('http_server_request_duration_seconds')!);
      for (const [index, count] of before) expect(buckets!.get(index)).toBeGreaterThanOrEqual(count);
      before = buckets!;
    }
    holdClock(Date.UTC(2099, 5, 1));
    const [metric] = (await scrapeProtobuf()).get('http_server_request_duration_seconds')!.metric;
    expect(metric!.histogram).toMatchObject({ schema: 6, sampleCount: 0n, zeroCount: 0n, positiveSpan: [] });
    expect(metric!.histogram!.zeroThreshold).toBeGreaterThan(0);
  });

  it('is a 422 beyond 2,500 combinations of labels with native histograms', async () => {
    const paths = Array.from({ length: 501 }, (_, index) => `/p/${index}`);
    const statuses = [200, 201, 202, 203, 204];
    await tenant.write(...paths.flatMap((path) => statuses.map((status_code) => ({ path, status_code }))));
    const path = `/v1/apps/${tenant.appId}/prometheus`;
    const { status, body } = await app.get(path, tenant.key, { routes: 501 }).set('Accept', PROTOBUF);
    expect([status, (body as { detail: { msg: string }[] }).detail[0]?.msg]).toEqual([
      422,
      expect.stringContaining('more than 2500 combinations'),
    ]);
    const families = await scrapeProtobuf(`${path}?routes=499`);
    expect(families.get('http_server_request_duration_seconds')!.metric).toHaveLength(2_500);
  });

  it('is a 422 beyond 10,000 combinations of labels', async () => {
    const paths = Array.from({ length: 600 }, (_, index) => `/p/${index}`);
    const statuses = Array.from({ length: 17 }, (_, index) => 400 + index);
    await tenant.write(...paths.flatMap((path) => statuses.map((status_code) => ({ path, status_code }))));
    const { status, body } = await tenant.get('prometheus', { routes: 1_000 });
    expect([status, body]).toEqual([
      422,
      { detail: [expect.objectContaining({ type: 'value_error', loc: ['query', 'routes'], input: '1000' })] },
    ]);
    expect([...(await scrape()).keys()].some((key) => key.includes('_other'))).toBe(true);
  });
});
