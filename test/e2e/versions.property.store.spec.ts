import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { RequestRecord } from '../../src/records/request-record.js';
import { Random } from '../../src/shared/random.js';
import { TestApp } from '../setup/app.js';
import { writeReports } from '../setup/instance-reports.js';
import { Tenant } from '../setup/tenant.js';

/** More with `PROPERTY_RUNS`, as in a nightly run. */
const RUNS = Number(process.env.PROPERTY_RUNS ?? 30);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Versions begin and end only at units. A bucket has three units. */
const UNITS = 360;
const IN_BUCKET = 3;
const ENVS = ['prod', 'test'] as const;
const VERSIONS = ['1.0', '1.1', '2.0'] as const;
const TIMES = [100, 5_000];

type Env = (typeof ENVS)[number];
type Version = string | null;
/** A process from its first to its last report, or a mark, which has no length. */
interface Run {
  env: Env;
  version: string;
  began: number;
  ended: number;
  isMark: boolean;
}
interface Counted extends RequestRecord {
  unit: number;
  version: Version;
}

const FILTERS: readonly { op: string; value?: string | string[]; holds: (version: Version) => boolean }[] = [
  { op: 'eq', value: '1.0', holds: (version) => version === '1.0' },
  { op: 'neq', value: '1.0', holds: (version) => version !== '1.0' },
  { op: 'in', value: ['1.0', '2.0'], holds: (version) => version === '1.0' || version === '2.0' },
  { op: 'not_in', value: ['1.1', '7'], holds: (version) => version !== '1.1' },
  { op: 'like', value: '1.%', holds: (version) => version?.startsWith('1.') ?? false },
  { op: 'not_like', value: '1.%', holds: (version) => !version?.startsWith('1.') },
  { op: 'contains', value: '.0', holds: (version) => version?.includes('.0') ?? false },
  { op: 'not_contains', value: '.0', holds: (version) => !version?.includes('.0') },
  { op: 'is_null', holds: (version) => version === null },
  { op: 'is_not_null', holds: (version) => version !== null },
];

/** What each environment ran in each unit, looked at unit by unit. */
function findVersions(runs: readonly Run[]): Record<Env, Version[]> {
  const of = (env: Env) => {
    const versions: Version[] = [];
    let before = new Set<string>();
    let newest: Version = null;
    for (let unit = 0; unit < UNITS; unit++) {
      const mine = runs.filter((run) => run.env === env);
      const alive = new Set(
        mine.filter(({ began, ended }) => began <= unit && unit < ended).map(({ version }) => version),
      );
      const seen = mine.filter(({ began }) => began === unit).map(({ version }) => version);
      for (const version of [...seen].sort()) if (!before.has(version)) newest = version;
      const [only] = alive;
      versions.push(alive.size > 1 ? null : (only ?? newest));
      before = alive;
    }
    return versions;
  };
  return { prod: of('prod'), test: of('test') };
}

describe.each([
  ['by the minute', MINUTE, 7 * HOUR],
  ['by the quarter-hour', 15 * MINUTE, 40 * DAY],
])('metrics by app_version, %s', (_, bucket, age) => {
  const unitMs = bucket / IN_BUCKET;
  const start = Math.floor((Date.now() - age) / HOUR) * HOUR;
  const at = (unit: number) => start + unit * unitMs;
  let app: TestApp;
  let tenant: Tenant;
  let requests: Counted[];
  const consumers = new Map<string | null, number | null>([[null, null]]);

  beforeAll(async () => {
    app = await TestApp.start();
    tenant = await Tenant.create(app);
    const random = new Random(bucket);
    const pick = <Value>(values: readonly Value[]) => values[random.integer(0, values.length - 1)]!;
    const runs = ENVS.flatMap((env) => [
      ...Array.from({ length: 7 }, (): Run => {
        const began = random.integer(0, UNITS - 20);
        const ended = began + random.integer(0, 60);
        return { env, version: pick(VERSIONS), began, ended, isMark: false };
      }),
      ...['0.9', '2.0'].map((version): Run => {
        const began = random.integer(0, UNITS - 1);
        return { env, version, began, ended: began, isMark: true };
      }),
    ]);
    const versions = findVersions(runs);
    const records = await tenant.write(
      ...Array.from({ length: 900 }, (_, index) => ({
        timestamp: at(random.integer(0, UNITS - 1)) + random.integer(0, unitMs - 1),
        env: ENVS[index % 2]!,
        path: pick(['/a', '/b', null]),
        consumer: pick([{ identifier: 'anna' }, null]),
        status_code: pick([200, 404, 503]),
        response_time_ms: pick(TIMES),
      })),
    );
    requests = records.map((record) => {
      const unit = Math.floor((record.timestamp - start) / unitMs);
      const first = unit - (unit % IN_BUCKET);
      const [version, ...others] = versions[record.env as Env].slice(first, first + IN_BUCKET);
      return { ...record, unit, version: others.every((other) => other === version) ? version! : null };
    });
    for (const env of ENVS) {
      const app_env_id = await tenant.envId(env);
      const mine = runs.filter((run) => run.env === env);
      await writeReports(
        app,
        mine
          .filter(({ isMark }) => !isMark)
          .flatMap(({ version: app_version, began, ended }) => {
            const process = { app_id: tenant.appId, app_env_id, instance_uuid: randomUUID(), app_version };
            return [began, ended].map((unit) => ({ ...process, at: at(unit) }));
          }),
      );
      for (const { version, began } of mine.filter(({ isMark }) => isMark))
        await app.admin.releases.mark(tenant.appId, version, { env, at: at(began) });
    }
    consumers.set('anna', await tenant.consumerId('anna'));
  });

  afterAll(() => app.stop());

  it('has requests of each version, of several at once, and of none', () => {
    const counted = new Set(requests.map(({ version }) => version));
    expect(counted.has(null)).toBe(true);
    expect(counted.size).toBeGreaterThanOrEqual(4);
  });

  it(`groups and filters requests as they are one by one, in ${RUNS} questions`, async () => {
    const buckets = UNITS / IN_BUCKET;
    const question = fc.record({
      window: fc.tuple(fc.nat(buckets - 1), fc.nat(buckets - 1)),
      interval: fc.constantFrom(undefined, 'hour'),
      group_by: fc.uniqueArray(fc.constantFrom('env', 'app_version', 'consumer_id', 'path'), {
        maxLength: 3,
      }),
      filter: fc.option(fc.constantFrom(...FILTERS), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(question, async ({ window, interval, group_by, filter }) => {
        const [from, to] = [Math.min(...window) * IN_BUCKET, (Math.max(...window) + 1) * IN_BUCKET];
        const startOf = ({ timestamp }: Counted) => Math.floor(timestamp / HOUR) * HOUR;
        const isIn = (request: Counted) =>
          interval === undefined
            ? request.unit >= from && request.unit < to
            : startOf(request) >= Math.floor(at(from) / HOUR) * HOUR && startOf(request) < at(to);
        const groups = new Map<string, Counted[]>();
        for (const request of requests.filter(isIn)) {
          if (filter && !filter.holds(request.version)) continue;
          const { env, version: app_version, path, consumer } = request;
          const consumer_id = consumers.get(consumer?.identifier ?? null);
          const names: Record<string, unknown> = { env, app_version, path, consumer_id };
          const key = JSON.stringify([
            interval && new Date(startOf(request)).toISOString(),
            ...group_by.map((name) => names[name]),
          ]);
          groups.set(key, [...(groups.get(key) ?? []), request]);
        }
        const rows = await tenant.metrics({
          since: new Date(at(from)).toISOString(),
          until: new Date(at(to)).toISOString(),
          interval,
          group_by,
          metrics: ['requests', 'server_errors', 'apdex'],
          filters: filter && [{ field: 'app_version', op: filter.op, value: filter.value }],
        });
        const found = rows.map(({ period_start, requests, server_errors, apdex, ...row }) => [
          JSON.stringify([
            interval && new Date(String(period_start)).toISOString(),
            ...group_by.map((name) => row[name]),
          ]),
          [requests, server_errors, apdex],
        ]);
        const truth = [...groups].map(([key, mine]) => [
          key,
          [
            mine.length,
            mine.filter(({ status_code }) => status_code >= 500).length,
            expect.closeTo(
              mine.filter(({ response_time_ms }) => response_time_ms === TIMES[0]).length / mine.length,
              3,
            ),
          ],
        ]);
        expect(Object.fromEntries(found)).toEqual(Object.fromEntries(truth));
        expect(found).toHaveLength(truth.length);
      }),
      { numRuns: RUNS },
    );
  });
});
