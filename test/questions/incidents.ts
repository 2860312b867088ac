import { Random } from '../../src/shared/random.js';
import { EMPTY_CAPTURE, toCaptureJson } from '../../src/records/capture.js';
import type { ConsumerRecord, RequestRecord } from '../../src/records/request-record.js';
import { buildRequest } from '../factories/request.factory.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/**
 * Midnight of today in UTC: all data lies before it, so that no question is about a window that is running.
 */
const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const DAYS = 7;

/** The time `hour`:`minute` on the day `daysAgo` days before today, in milliseconds since the epoch. */
export const at = (daysAgo: number, hour = 0, minute = 0) =>
  TODAY - daysAgo * DAY_MS + hour * HOUR_MS + minute * 60_000;

export const ATTACKER_IP = '198.51.100.23';
export const EXCEPTION = 'PaymentGatewayTimeout: no response within 5000 ms';

interface Route {
  method: string;
  path: string;
  /** Share of the requests. */
  weight: number;
  medianMs: number;
  medianBytes: number;
}

const ROUTES: readonly Route[] = [
  { method: 'GET', path: '/products', weight: 8, medianMs: 40, medianBytes: 9_000 },
  { method: 'GET', path: '/products/{id}', weight: 10, medianMs: 15, medianBytes: 2_000 },
  { method: 'GET', path: '/orders/{id}', weight: 4, medianMs: 25, medianBytes: 1_500 },
  { method: 'POST', path: '/orders', weight: 3, medianMs: 90, medianBytes: 600 },
  { method: 'POST', path: '/checkout', weight: 4, medianMs: 120, medianBytes: 300 },
  { method: 'POST', path: '/login', weight: 2, medianMs: 60, medianBytes: 200 },
];
type Five = [ConsumerRecord, ConsumerRecord, ConsumerRecord, ConsumerRecord, ConsumerRecord];
const CONSUMERS: readonly [...Five, ConsumerRecord] = [
  { identifier: 'acme', name: 'Acme Corporation', group: 'Enterprise' },
  { identifier: 'globex', name: 'Globex Corporation', group: 'Enterprise' },
  { identifier: 'initech', name: 'Initech', group: 'Starter' },
  { identifier: 'umbrella', name: 'Umbrella', group: 'Starter' },
  { identifier: 'hooli', name: 'Hooli', group: 'Partners' },
  { identifier: 'stark', name: 'Stark Industries', group: 'Partners' },
];
const [ACME, GLOBEX, INITECH, UMBRELLA, HOOLI] = CONSUMERS;

/**
 * A week of a shop with six incidents:
 * two days ago from 14:00 to 15:00, globex gets 503 from the checkout; since 09:00 of yesterday the checkout
 * takes five times as long; yesterday initech sends a flood of GET /products, and hooli nothing at all; three
 * days ago at 03:00 umbrella guesses passwords; two days ago at 10:00 the route GET /search appears; staging
 * fails now and then.
 */
export function generateIncidents(): RequestRecord[] {
  const random = new Random(20);
  const records: RequestRecord[] = [];
  const add = (route: Omit<Route, 'weight'>, overrides: Partial<RequestRecord>) => {
    records.push(
      buildRequest({
        request_uuid: `${random.hex(8)}-${random.hex(4)}-4${random.hex(3)}-8${random.hex(3)}-${random.hex(12)}`,
        method: route.method,
        path: route.path,
        url: `https://shop.example${route.path.replace('{id}', String(random.integer(1, 9_999)))}`,
        response_time_ms: Math.max(1, Math.round(random.logNormal(route.medianMs, 0.4))),
        response_size_bytes: Math.round(random.logNormal(route.medianBytes, 0.2)),
        ...overrides,
      }),
    );
  };
  const lots = ROUTES.flatMap((route) => Array.from({ length: route.weight }, () => route)) as [
    Route,
    ...Route[],
  ];
  const [checkout, login, products] = ['/checkout', '/login', '/products'].map((path) =>
    ROUTES.find((route) => route.path === path)!,
  ) as [Route, Route, Route];

  for (let start = at(DAYS); start < TODAY; start += HOUR_MS)
    for (let remaining = random.poisson(14); remaining > 0; remaining--) {
      const timestamp = start + random.integer(0, HOUR_MS - 1);
      const route = random.pick(lots);
      const consumer = random.pick(CONSUMERS);
      if (consumer === HOOLI && timestamp >= at(1)) continue;
      const env = random.chance(0.1) ? 'staging' : 'prod';
      const isMissing = route.path === '/products/{id}' && random.chance(0.08);
      const isBroken = env === 'staging' && random.chance(0.15);
      add(route, {
        timestamp,
        consumer,
        env,
        status_code: isBroken ? 500 : isMissing ? 404 : 200,
        ...(route === checkout &&
          timestamp >= at(1, 9) && { response_time_ms: Math.round(random.logNormal(600, 0.4)) }),
      });
    }
  for (let index = 0; index < 80; index++)
    add(checkout, {
      timestamp: at(2, 14) + index * 44_000,
      consumer: GLOBEX,
      status_code: 503,
      response_time_ms: 5_000 + index,
      captured_json: toCaptureJson({
        ...EMPTY_CAPTURE,
        exception: {
          type: EXCEPTION.split(': ')[0]!,
          message: EXCEPTION.split(': ')[1]!,
          stacktrace: 'at pay (checkout.ts:17)',
          tracker_event_id: null,
        },
      }),
    });
  for (let index = 0; index < 300; index++)
    add(products, { timestamp: at(1) + index * 280_000, consumer: INITECH, status_code: 200 });
  for (let index = 0; index < 150; index++)
    add(login, {
      timestamp: at(3, 3) + index * 20_000,
      consumer: UMBRELLA,
      status_code: 401,
      client_ip: ATTACKER_IP,
    });
  for (let index = 0; index < 120; index++)
    add(
      { method: 'GET', path: '/search', medianMs: 200, medianBytes: 4_000 },
      {
        timestamp: at(2, 10, 5) + index * 1_200_000,
        consumer: random.pick([ACME, GLOBEX, INITECH, UMBRELLA]),
      },
    );
  add(ROUTES[3]!, {
    timestamp: at(4, 12),
    consumer: ACME,
    url: 'https://shop.example/orders?voucher=SPRING-4711',
  });
  return records.filter(({ timestamp }) => timestamp < TODAY);
}
