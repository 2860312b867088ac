import type { RequestRecord } from '../../src/records/request-record.js';
import type { ToolResponse } from '../setup/mcp.js';
import { ATTACKER_IP, EXCEPTION, at } from './incidents.js';

type Row = Record<string, unknown>;
type Call = [tool: string, args: object];

export interface Question {
  question: string;
  /** The calls, one after another; a later one may use what the earlier ones found. */
  calls: (Call | ((answers: readonly ToolResponse[], rows: (answer: ToolResponse) => Row[]) => Call))[];
  /** Rows that answer it, by arithmetic over the generated requests: each must be in one of the results. */
  rows?: (truth: Truth) => Row[];
  /** Texts that answer it. */
  texts?: (truth: Truth) => string[];
}

/** A percentile: exact to 1.1 %, and a half for the rounding. */
const about = (value: number) => ({ about: value, within: value * 0.012 + 0.51 });
/** A rate with four digits, or a share. */
const near = (value: number) => ({ about: value, within: Math.abs(value) * 0.0006 + 1e-9 });

type Filter = (record: RequestRecord) => boolean;

/** All generated requests have a time. */
const getTime = ({ response_time_ms }: RequestRecord) => response_time_ms ?? NaN;

/** Figures of generated requests, without the product. */
export class Truth {
  constructor(private readonly records: readonly RequestRecord[]) {}

  all(...filters: Filter[]): RequestRecord[] {
    return this.records.filter((record) => filters.every((filter) => filter(record)));
  }

  count(...filters: Filter[]): number {
    return this.all(...filters).length;
  }

  sum(value: (record: RequestRecord) => number, ...filters: Filter[]): number {
    return this.all(...filters).reduce((total, record) => total + value(record), 0);
  }

  errorRate(...filters: Filter[]): number {
    return this.count(...filters, ({ status_code }) => status_code >= 400) / this.count(...filters);
  }

  /** Nearest rank. */
  percentile(rank: number, ...filters: Filter[]): number {
    const times = this.all(...filters)
      .map(getTime)
      .sort((a, b) => a - b);
    return times[Math.max(0, Math.ceil(times.length * rank) - 1)]!;
  }

  /** Counts by a value, the largest first. */
  groups(key: (record: RequestRecord) => string | number, ...filters: Filter[]): [string | number, number][] {
    const counts = new Map<string | number, number>();
    for (const record of this.all(...filters)) counts.set(key(record), (counts.get(key(record)) ?? 0) + 1);
    return [...counts].sort(([, a], [, b]) => b - a);
  }
}

const between =
  (start: number, end: number): Filter =>
  ({ timestamp }) =>
    timestamp >= start && timestamp < end;
const day = (daysAgo: number) => between(at(daysAgo), at(daysAgo - 1));
const on =
  (path: string): Filter =>
  (record) =>
    record.path === path;
const by =
  (identifier: string): Filter =>
  ({ consumer }) =>
    consumer?.identifier === identifier;
const status =
  (from: number, to = from): Filter =>
  ({ status_code }) =>
    status_code >= from && status_code <= to;
const inEnv =
  (env: string): Filter =>
  (record) =>
    record.env === env;
const iso = (epochMs: number) => new Date(epochMs).toISOString();
/** A whole minute as results write it in UTC. */
const minute = (epochMs: number) => `${iso(epochMs).slice(0, 16)}Z`;
const getHour = ({ timestamp }: RequestRecord) => minute(Math.floor(timestamp / 3_600_000) * 3_600_000);
const who = ({ consumer }: RequestRecord) => consumer?.identifier ?? '';
const window = (from: number, to: number) => ({ since: iso(from), until: iso(to) });
const TUESDAY = window(at(2), at(1));
const WEEK = window(at(7), at(0));

/** A row of explain_change for counts. */
const moved = (
  truth: Truth,
  dimension: string,
  value: string,
  daysAgo: number,
  of: Filter,
  part: Filter,
): Row => {
  const [now, before] = [truth.count(day(daysAgo), of, part), truth.count(day(daysAgo + 1), of, part)];
  const whole = truth.count(day(daysAgo), of) - truth.count(day(daysAgo + 1), of);
  return { dimension, value, now, before, change: now - before, share: near((now - before) / whole) };
};

export const QUESTIONS: readonly Question[] = [
  {
    question: 'How many requests were there two days ago, and how many on the day before?',
    calls: [['metrics', { ...TUESDAY, metrics: ['requests'], compare: true }]],
    rows: (t) => [
      {
        requests: t.count(day(2)),
        requests_before: t.count(day(3)),
        requests_change: t.count(day(2)) - t.count(day(3)),
      },
    ],
  },
  {
    question: 'Which consumer caused the 5xx two days ago?',
    calls: [['metrics', { ...TUESDAY, status: '5xx', group_by: ['consumer_id'], metrics: ['requests'] }]],
    rows: (t) =>
      t
        .groups(who, day(2), status(500, 599))
        .slice(0, 1)
        .map(([consumer_id, requests]) => ({ consumer_id, requests })),
  },
  {
    question: 'Which endpoint made the server errors two days ago, and what is its share of the increase?',
    calls: [['explain_change', { ...TUESDAY, measure: 'server_errors' }]],
    rows: (t) => [moved(t, 'endpoint', 'POST /checkout', 2, status(500, 599), on('/checkout'))],
  },
  {
    question: 'Which share of the increase of server errors two days ago had globex, and with which status?',
    calls: [['explain_change', { ...TUESDAY, measure: 'server_errors', top: 3 }]],
    rows: (t) => [
      moved(t, 'consumer', 'globex', 2, status(500, 599), by('globex')),
      moved(t, 'status', '503', 2, status(500, 599), status(503)),
    ],
  },
  {
    question: 'Since when is the checkout slow?',
    calls: [
      [
        'metrics',
        {
          ...window(at(1, 6), at(1, 12)),
          path: '/checkout',
          interval: 'hour',
          metrics: ['response_time_p50', 'requests'],
        },
      ],
    ],
    rows: (t) =>
      [8, 9].flatMap((hour) => {
        const filters = [on('/checkout'), between(at(1, hour), at(1, hour + 1))];
        const requests = t.count(...filters);
        return requests === 0
          ? []
          : [
              {
                period_start: minute(at(1, hour)),
                requests,
                response_time_p50: about(t.percentile(0.5, ...filters)),
              },
            ];
      }),
  },
  {
    question: 'By how much is the checkout slower since then?',
    calls: [
      [
        'metrics',
        {
          ...window(at(1, 9), at(0)),
          path: '/checkout',
          status: '2xx',
          compare: true,
          metrics: ['response_time_p50', 'response_time_p95'],
        },
      ],
    ],
    rows: (t) => {
      const [now, before] = [between(at(1, 9), at(0)), between(at(2, 18), at(1, 9))];
      const p = (rank: number, of: Filter) =>
        about(t.percentile(rank, on('/checkout'), status(200, 299), of));
      return [
        {
          response_time_p50: p(0.5, now),
          response_time_p50_before: p(0.5, before),
          response_time_p95: p(0.95, now),
          response_time_p95_before: p(0.95, before),
        },
      ];
    },
  },
  {
    question: 'Which endpoint made the service slower yesterday from 09:00 on?',
    calls: [
      [
        'explain_change',
        {
          ...window(at(1, 9), at(0)),
          baseline_since: iso(at(2, 18)),
          baseline_until: iso(at(1, 9)),
          measure: 'response_time',
        },
      ],
    ],
    rows: (t) => [
      {
        dimension: 'endpoint',
        value: 'POST /checkout',
        now: about(t.percentile(0.95, on('/checkout'), between(at(1, 9), at(0)))),
        before: about(t.percentile(0.95, on('/checkout'), between(at(2, 18), at(1, 9)))),
        requests: t.count(on('/checkout'), between(at(1, 9), at(0))),
      },
    ],
  },
  {
    question: 'Who sent more requests yesterday than on the day before, and how much of the increase is it?',
    calls: [['explain_change', { ...window(at(1), at(0)), measure: 'requests' }]],
    rows: (t) => [
      moved(t, 'consumer', 'initech', 1, () => true, by('initech')),
      moved(t, 'endpoint', 'GET /products', 1, () => true, on('/products')),
    ],
  },
  {
    question: 'Which consumer stopped calling yesterday?',
    calls: [['explain_change', { ...window(at(1), at(0)), measure: 'requests', top: 10 }]],
    rows: (t) => [{ dimension: 'consumer', value: 'hooli', now: 0, before: t.count(day(2), by('hooli')) }],
  },
  {
    question: 'Who failed to log in three days ago, and how often?',
    calls: [
      [
        'metrics',
        {
          ...window(at(3), at(2)),
          path: '/login',
          status: '401',
          group_by: ['consumer_id'],
          metrics: ['requests'],
        },
      ],
    ],
    rows: (t) => [{ consumer_id: 'umbrella', requests: t.count(day(3), on('/login'), status(401)) }],
  },
  {
    question: 'In which hour were the failed logins?',
    calls: [
      [
        'metrics',
        { ...window(at(3), at(2)), path: '/login', status: '401', interval: 'hour', metrics: ['requests'] },
      ],
    ],
    rows: (t) =>
      t
        .groups(getHour, day(3), on('/login'), status(401))
        .map(([period_start, requests]) => ({ period_start, requests })),
  },
  {
    question: 'From which address were the failed logins?',
    calls: [
      [
        'search_requests',
        {
          ...window(at(3), at(2)),
          path: '/login',
          status: '401',
          fields: ['client_ip', 'client_country_iso_code'],
          limit: 5,
        },
      ],
    ],
    rows: () => [{ client_ip: ATTACKER_IP }],
  },
  {
    question: 'Since when is there a /search, and how many requests had it so far?',
    calls: [
      ['metrics', { ...WEEK, path: '/search', interval: 'hour', metrics: ['requests'], max_tokens: 4000 }],
      ['metrics', { ...WEEK, path: '/search', metrics: ['requests'] }],
    ],
    rows: (t) => [{ period_start: getHour(t.all(on('/search'))[0]!) }, { requests: t.count(on('/search')) }],
  },
  {
    question: 'How do the error rates of production and staging differ over the week?',
    calls: [['metrics', { ...WEEK, group_by: ['env'], metrics: ['error_rate', 'requests'] }]],
    rows: (t) =>
      ['prod', 'staging'].map((env) => ({
        env,
        error_rate: near(t.errorRate(inEnv(env))),
        requests: t.count(inEnv(env)),
      })),
  },
  {
    question: 'Which is the slowest endpoint of the week by its p95?',
    calls: [['metrics', { ...WEEK, group_by: ['method', 'path'], metrics: ['response_time_p95'], top: 3 }]],
    rows: (t) => [
      { method: 'POST', path: '/checkout', response_time_p95: about(t.percentile(0.95, on('/checkout'))) },
    ],
  },
  {
    question: 'Which endpoint sent the most bytes over the week?',
    calls: [['metrics', { ...WEEK, group_by: ['path'], metrics: ['bytes_sent'], top: 1 }]],
    rows: (t) => [
      {
        path: '/products',
        bytes_sent: t.sum(({ response_size_bytes }) => response_size_bytes ?? 0, on('/products')),
      },
    ],
  },
  {
    question: 'How many requests were there on each day in Kolkata?',
    calls: [['metrics', { ...WEEK, timezone: 'Asia/Kolkata', interval: 'day', metrics: ['requests'] }]],
    rows: (t) => {
      const local = ({ timestamp }: RequestRecord) => iso(timestamp + 5.5 * 3_600_000).slice(0, 10);
      return t.groups(local).map(([date, requests]) => ({ period_start: `${date}T00:00+05:30`, requests }));
    },
  },
  {
    question: 'Which was the first request that failed in the incident two days ago, and whose was it?',
    calls: [
      [
        'search_requests',
        { ...window(at(2, 14), at(2, 15)), path: '/checkout', status: '5xx', order: 'oldest', limit: 1 },
      ],
    ],
    rows: (t) => {
      const [first] = t.all(on('/checkout'), status(500, 599), between(at(2, 14), at(2, 15)), inEnv('prod'));
      return [{ request_uuid: first!.request_uuid, status_code: 503, consumer: 'globex' }];
    },
  },
  {
    question: 'Which exception made those requests fail?',
    calls: [
      ['search_requests', { ...window(at(2, 14), at(2, 15)), path: '/checkout', status: '503', limit: 1 }],
      ([found], rows) => ['get_request', { request_uuid: rows(found!)[0]!.request_uuid }],
    ],
    texts: () => [EXCEPTION],
  },
  {
    question: 'How many requests took longer than 4 seconds two days ago, and which was the longest?',
    calls: [
      [
        'search_requests',
        {
          ...TUESDAY,
          filters: [{ field: 'response_time_ms', op: 'gt', value: 4_000 }],
          fields: ['response_time_ms'],
          limit: 200,
          max_tokens: 9_000,
        },
      ],
    ],
    rows: (t) =>
      t
        .all(day(2), (record) => getTime(record) > 4_000)
        .map(({ request_uuid, response_time_ms }) => ({ request_uuid, response_time_ms })),
  },
  {
    question: 'What did acme do last before today?',
    calls: [['search_requests', { ...WEEK, consumer: 'acme', limit: 1 }]],
    rows: (t) => {
      const [last] = t.all(by('acme')).sort((a, b) => b.timestamp - a.timestamp);
      return [{ request_uuid: last!.request_uuid, method: last!.method, status_code: last!.status_code }];
    },
  },
  {
    question: 'Under which identifier is Globex Corporation known?',
    calls: [['find', { query: 'Globex Corporation' }]],
    rows: () => [{ kind: 'consumer', name: 'globex', match: 'exact' }],
  },
  {
    question: 'Which consumers had server errors in the hour of the incident?',
    calls: [
      [
        'metrics',
        { ...window(at(2, 14), at(2, 15)), status: '5xx', group_by: ['consumer_id'], metrics: ['requests'] },
      ],
    ],
    rows: (t) =>
      t
        .groups(who, between(at(2, 14), at(2, 15)), status(500, 599))
        .map(([consumer_id, requests]) => ({ consumer_id, requests })),
  },
  {
    question: 'Which status codes did the checkout have two days ago?',
    calls: [
      ['metrics', { ...TUESDAY, path: 'POST /checkout', group_by: ['status_code'], metrics: ['requests'] }],
    ],
    rows: (t) =>
      t
        .groups(({ status_code }) => status_code, day(2), on('/checkout'))
        .map(([status_code, requests]) => ({ status_code, requests })),
  },
  {
    question: 'When did the incident of two days ago begin and end?',
    calls: [
      [
        'metrics',
        {
          ...window(at(2, 12), at(2, 17)),
          path: '/checkout',
          env: 'prod',
          interval: 'hour',
          metrics: ['server_errors'],
        },
      ],
    ],
    rows: (t) =>
      [13, 14, 15].flatMap((hour) => {
        const of = [on('/checkout'), inEnv('prod'), between(at(2, hour), at(2, hour + 1))];
        return t.count(...of) === 0
          ? []
          : [{ period_start: minute(at(2, hour)), server_errors: t.count(...of, status(500, 599)) }];
      }),
  },
  {
    question: 'How many failed each minute when it began?',
    calls: [
      [
        'metrics',
        { ...window(at(2, 14), at(2, 14, 10)), status: '503', interval: 'minute', metrics: ['requests'] },
      ],
    ],
    rows: (t) =>
      t
        .groups(({ timestamp }) => minute(timestamp), status(503), between(at(2, 14), at(2, 14, 10)))
        .map(([period_start, requests]) => ({ period_start, requests })),
  },
  {
    question: 'Which paths are not found, and how often?',
    calls: [['metrics', { ...WEEK, status: '404', group_by: ['path'], metrics: ['requests'] }]],
    rows: (t) => t.groups(({ path }) => path!, status(404)).map(([path, requests]) => ({ path, requests })),
  },
  {
    question: 'Whose client errors rose three days ago, and by which share?',
    calls: [['explain_change', { ...window(at(3), at(2)), measure: 'client_errors' }]],
    rows: (t) => [
      moved(t, 'consumer', 'umbrella', 3, status(400, 499), by('umbrella')),
      moved(t, 'status', '401', 3, status(400, 499), status(401)),
    ],
  },
  {
    question: 'Who used the voucher SPRING-4711, and what became of the order?',
    calls: [
      [
        'search_requests',
        {
          ...WEEK,
          filters: [{ field: 'url', op: 'contains', value: 'voucher=spring-4711' }],
          fields: ['consumer', 'status_code', 'url'],
        },
      ],
    ],
    rows: () => [
      { consumer: 'acme', status_code: 200, url: 'https://shop.example/orders?voucher=SPRING-4711' },
    ],
  },
  {
    question: 'Which paths fail in staging?',
    calls: [
      ['metrics', { ...WEEK, env: 'staging', status: '5xx', group_by: ['path'], metrics: ['requests'] }],
    ],
    rows: (t) =>
      t
        .groups(({ path }) => path!, inEnv('staging'), status(500, 599))
        .map(([path, requests]) => ({ path, requests })),
  },
];
