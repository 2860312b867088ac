import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { TestApp } from '../setup/app.js';
import { holdClock, releaseClock } from '../setup/clock.js';
import { readDashboard } from '../setup/grafana.js';
import { Tenant } from '../setup/tenant.js';
import { findObstacle, hasProgram, locate } from './packages.js';
import { PROMETHEUS } from './prometheus.js';

const run = promisify(execFile);
/** No retention reaches it. */
const START = Date.UTC(2099, 4, 14, 9);
const MINUTES = 60;
const MINUTE_MS = 60_000;
/** As a Prometheus asks that scrapes native histograms. */
const PROTOBUF =
  'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
const END = START + MINUTES * MINUTE_MS;

const obstacle = findObstacle(PROMETHEUS);
if (obstacle !== undefined) process.stderr.write(`skipped: Prometheus, because ${obstacle}\n`);

(obstacle === undefined ? describe : describe.skip)('Prometheus', () => {
  let app: TestApp;
  let tenant: Tenant;
  let directory: string;
  const scrapes: string[] = [];
  const nativeScrapes: string[] = [];

  /** For each query its values, by `env route status` or the like. */
  const queryAll = async (expressions: readonly string[], at: number, files = scrapes) => {
    const running = run('./scrape', [String(at / 1000), ...files], {
      cwd: locate(PROMETHEUS),
      maxBuffer: 16 * 1024 * 1024,
    });
    running.child.stdin?.end(expressions.join('\n'));
    const { stdout } = await running;
    const found = expressions.map(() => new Map<string, number>());
    for (const line of stdout.split('\n')) {
      if (line === '') continue;
      const values = Array.from(line.matchAll(/="((?:[^"\\]|\\.)*)"/g), ([, value]) => value);
      found[Number.parseInt(line)]!.set(values.join(' '), Number(line.slice(line.lastIndexOf(' ') + 1)));
    }
    return found;
  };
  const query = async (expression: string, at: number) => (await queryAll([expression], at))[0]!;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'scrapes-'));
    holdClock(START);
    app = await TestApp.start();
    tenant = await Tenant.create(app);
    for (let minute = 0; minute <= MINUTES; minute++) {
      const at = START + minute * MINUTE_MS;
      holdClock(at);
      await tenant.write(
        ...Array.from({ length: 20 }, (_, index) => ({
          timestamp: at - MINUTE_MS / 2,
          env: index % 2 === 0 ? 'prod' : 'staging "two"',
          path: ['/users/{id}', '/a\\b\n"c"', null][index % 3]!,
          status_code: index === 7 ? 500 : 200,
          response_time_ms: 10 + index * 40,
          response_size_bytes: 1_000 * index,
        })),
      );
      // A second later than the start of the hour, which `increase` leaves out.
      const seconds = String(Math.floor(at / 1000) + (minute === 0 ? 1 : 0));
      for (const [ending, accept, files] of [
        ['txt', 'application/openmetrics-text', scrapes],
        ['pb', PROTOBUF, nativeScrapes],
      ] as const) {
        const { body } = await app
          .get(`/v1/apps/${tenant.appId}/prometheus`, tenant.key)
          .set('Accept', accept)
          .responseType('blob');
        const file = join(directory, `${minute}.${ending}`);
        writeFileSync(file, body as Buffer);
        files.push(seconds, file);
      }
    }
  });

  afterAll(async () => {
    await app.stop();
    releaseClock();
    rmSync(directory, { recursive: true, force: true });
  });

  it('computes the increases of an hour that Query Metrics counts, and its percentiles', async () => {
    const at = END;
    const rows = await tenant.metrics({
      since: new Date(START).toISOString(),
      until: new Date(at).toISOString(),
      metrics: ['requests', 'bytes_sent', 'response_time_p50', 'response_time_p95'],
      group_by: ['env'],
    });
    const by = (expression: string) => query(`sum by (deployment_environment_name) (${expression})`, at);
    const requests = await by('increase(http_server_requests_total[1h])');
    const timed = await by('increase(http_server_request_duration_seconds_count[1h])');
    const bytes = await by('increase(http_server_response_body_size_bytes_sum[1h])');
    const seconds = await by('increase(http_server_request_duration_seconds_sum[1h])');
    expect(rows).toHaveLength(2);
    for (const row of rows) {
      const env = String(row.env).replaceAll('"', '\\"');
      // The extrapolation of one second.
      const near = (value: number | undefined, expected: unknown) => {
        expect(Math.abs((value ?? 0) / Number(expected) - 1)).toBeLessThan(1 / 3_000);
      };
      near(requests.get(env), row.requests);
      near(timed.get(env), row.requests);
      near(bytes.get(env), row.bytes_sent);
      expect(seconds.get(env)! / (MINUTES * (env === 'prod' ? 3.7 : 4.1))).toBeCloseTo(1, 1);
    }
    const p95 = await query(
      'histogram_quantile(0.95, sum by (le, deployment_environment_name) (increase(http_server_request_duration_seconds_bucket[1h])))',
      at,
    );
    // The bucket from 500 to 750 ms has it.
    expect(p95.get('prod')).toBeGreaterThan(0.5);
    expect(p95.get('prod')).toBeLessThanOrEqual(0.75);
  });

  it('reads labels as they were sent', async () => {
    const found = await query(
      'sum by (http_route, http_response_status_code) (http_server_requests_total)',
      END,
    );
    expect([...found].sort()).toEqual(
      [
        ['200', expect.any(Number)],
        [String.raw`200 /a\\b\n\"c\"`, expect.any(Number)],
        ['200 /users/{id}', expect.any(Number)],
        [String.raw`500 /a\\b\n\"c\"`, 61],
      ].sort(),
    );
  });

  it('reads native histograms, whose quantiles are the percentiles of Query Metrics within 1.1 %', async () => {
    const rows = await tenant.metrics({
      since: new Date(START).toISOString(),
      until: new Date(END).toISOString(),
      metrics: ['requests', 'response_time_p75', 'response_time_p95', 'response_time_p99'],
      group_by: ['env'],
    });
    const hour = 'sum by (deployment_environment_name) (increase(http_server_request_duration_seconds[1h]))';
    const [counts, ...quantiles] = await queryAll(
      [
        `histogram_count(${hour})`,
        ...['0.75', '0.95', '0.99'].map((quantile) => `histogram_quantile(${quantile}, ${hour})`),
      ],
      END,
      nativeScrapes,
    );
    expect(rows).toHaveLength(2);
    for (const row of rows) {
      const env = String(row.env).replaceAll('"', '\\"');
      expect(Math.abs(counts!.get(env)! / Number(row.requests) - 1)).toBeLessThan(1 / 3_000);
      for (const [index, name] of ['response_time_p75', 'response_time_p95', 'response_time_p99'].entries()) {
        const expected = Number(row[name]);
        // Query Metrics rounds to whole milliseconds.
        expect(Math.abs(quantiles[index]!.get(env)! * 1_000 - expected)).toBeLessThan(expected * 0.011 + 0.5);
      }
    }
  });

  it('reads the same counters and classic buckets in protobuf and in OpenMetrics', async () => {
    const expressions = [
      'sum by (le, http_response_status_code) ({__name__=~"http_server_.*_bucket"})',
      ...['count', 'sum'].map((name) => `sum by (__name__) ({__name__=~"http_server_.*_${name}"})`),
      'sum by (http_route) (http_server_requests_total)',
      'request_analytics_app_info',
    ];
    const native = await queryAll(expressions, END, nativeScrapes);
    expect(native).toEqual(await queryAll(expressions, END));
    expect(native.every(({ size }) => size > 0)).toBe(true);
  });

  it('has data for each query of the dashboard of Grafana', async () => {
    const { panels, templating } = readDashboard('prometheus');
    const values: Readonly<Record<string, string>> = {
      app: String(tenant.appId),
      env: '.*',
      __rate_interval: '5m',
      __range: '1h',
    };
    const fill = (text: string) => text.replaceAll(/\$(\w+)/g, (_, name: string) => values[name]!);
    const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => fill(expr!)));
    expect(expressions.length).toBeGreaterThan(10);
    for (const [index, result] of (await queryAll(expressions, END)).entries()) {
      expect([expressions[index], result.size]).not.toEqual([expressions[index], 0]);
      for (const value of result.values())
        expect([expressions[index], Number.isFinite(value)]).toContain(true);
    }
    const [app, env] = ['app', 'env'].map((name) =>
      templating.list.find((variable) => variable.name === name)!,
    );
    const [, series, label] = /^label_values\((.*), (\w+)\)$/.exec(env!.definition!)!;
    expect([...(await query(`count by (${label}) (${fill(series!)})`, END)).keys()].sort()).toEqual([
      'prod',
      String.raw`staging \"two\"`,
    ]);
    // Grafana applies the regular expression to the name, the labels, the value and the time.
    const [, info] = /^query_result\((.*)\)$/.exec(app!.definition!)!;
    const apps = await query(info!, END);
    expect([...apps.keys()]).toEqual([`request_analytics_app_info ${tenant.appId} Shop`]);
    const pattern = new RegExp(app!.regex!.slice(1, -1));
    const { text, value } = pattern.exec(`${info}{app_id="${tenant.appId}", app_name="Shop"} 1 1`)!.groups!;
    expect([text, value]).toEqual(['Shop', String(tenant.appId)]);
  });

  it('has data for each ratio of the rules on error budgets', async () => {
    const { groups } = load(readFileSync('docs/prometheus-budget-rules.yml', 'utf8')) as {
      groups: { rules: { record?: string; expr: string }[] }[];
    };
    const expressions = groups.flatMap(({ rules }) =>
      rules.filter(({ record }) => record).map(({ expr }) => expr),
    );
    expect(expressions.length).toBeGreaterThan(10);
    for (const [index, result] of (await queryAll(expressions, END)).entries()) {
      expect([expressions[index], result.size]).not.toEqual([expressions[index], 0]);
      for (const value of result.values()) expect(value).toBeGreaterThan(0);
    }
  });
});

const hasPromtool = hasProgram('promtool');
if (!hasPromtool) process.stderr.write('skipped: the rules for Prometheus, because promtool is not here\n');

(hasPromtool ? describe : describe.skip)('promtool', () => {
  it('reads the rules as they are documented, and they fire at a fault and stay silent without one', async () => {
    const files = ['docs/prometheus-rules.yml', 'docs/prometheus-budget-rules.yml'];
    const { stdout } = await run('promtool', ['check', 'rules', '--lint=all', '--lint-fatal', ...files]);
    expect(stdout.match(/SUCCESS/g)).toHaveLength(2);
    await run('promtool', ['test', 'rules', 'test/clients/prometheus-budget-rules.test.yml']);
  });
});
