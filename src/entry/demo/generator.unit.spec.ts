import fc from 'fast-check';
import { isStaticAssetOrHealthCheck } from '../../sources/decoding/log-exclusion.js';
import { DAY_MS } from '../../shared/time/units.js';
import { DEPRECATED, ENDPOINTS, EXCLUDED } from './endpoints.js';
import type { DemoRequest } from './demo-request.js';
import { requestsBetween, requestsOfSlot } from './generator.js';
import { SLOT_MS } from './traffic-curve.js';
import { BROKEN, FAILING, SLOW } from './trouble.js';

const ORIGIN = Date.UTC(2025, 3, 1);
/** The last 15 days of 13 months. */
const END = Date.UTC(2026, 4, 1);
const recent = [...requestsBetween(END - 15 * DAY_MS, END, ORIGIN)];
const pickSlot = fc.nat({ max: (END - ORIGIN) / SLOT_MS }).map((index) => ORIGIN + index * SLOT_MS);

function countBy(key: (request: DemoRequest) => string, requests = recent): Map<string, number> {
  const counts = new Map<string, number>();
  for (const request of requests) counts.set(key(request), (counts.get(key(request)) ?? 0) + 1);
  return counts;
}

describe('the requests of a slot', () => {
  it('are the same each time, lie in the slot and are in order', () => {
    fc.assert(
      fc.property(pickSlot, (slot) => {
        const requests = requestsOfSlot(slot, ORIGIN);
        expect(requestsOfSlot(slot, ORIGIN)).toEqual(requests);
        const times = requests.map(({ timestamp }) => timestamp);
        expect(times).toEqual([...times].sort((a, b) => a - b));
        expect(times.every((time) => time >= slot && time < slot + SLOT_MS)).toBe(true);
      }),
    );
  });
});

describe('15 days of requests', () => {
  it('are some 20,000, each with an identity of its own', () => {
    expect(recent.length).toBeGreaterThan(18_000);
    expect(recent.length).toBeLessThan(22_000);
    expect(new Set(recent.map(({ request_uuid }) => request_uuid)).size).toBe(recent.length);
  });

  it('leave no hour empty', () => {
    expect(countBy(({ timestamp }) => String(Math.floor(timestamp / 3_600_000))).size).toBe(15 * 24);
  });

  it('call every endpoint, the health checks, the excluded one, and paths without a route', () => {
    const routes = countBy(({ method, path }) => `${method} ${path ?? ''}`);
    const expected = [...ENDPOINTS, DEPRECATED.endpoint].map(({ method, path }) => `${method} ${path}`);
    const others = ['GET /healthz', 'GET /ready', `${EXCLUDED.method} ${EXCLUDED.path}`, 'GET '];
    expect([...routes.keys()].sort()).toEqual([...expected, ...others].sort());
  });

  it('come from two environments, some sixty consumers in five groups, guests, and many countries', () => {
    expect([...countBy(({ env }) => env).keys()].sort()).toEqual(['dev', 'prod']);
    const consumers = countBy(({ consumer }) => consumer?.identifier ?? 'guest');
    expect(consumers.size).toBeGreaterThan(55);
    expect(consumers.get('guest')).toBeGreaterThan(1_000);
    expect(countBy(({ consumer }) => consumer?.group ?? 'none').size).toBe(6);
    expect(countBy(({ client_country_iso_code }) => client_country_iso_code ?? 'none').size).toBeGreaterThan(
      20,
    );
  });

  it('have a few very busy consumers and many that are hardly there', () => {
    const counts = [...countBy(({ consumer }) => consumer?.identifier ?? '').entries()]
      .filter(([identifier]) => identifier !== '')
      .map(([, count]) => count)
      .sort((a, b) => b - a);
    expect(counts[0]).toBeGreaterThan(10 * (counts[40] ?? 0));
  });

  it.each([200, 201, 204, 304, 400, 401, 402, 403, 404, 409, 422, 429, 500, 502, 503, 504])(
    'have responses with status %i',
    (status) => {
      expect(recent.some(({ status_code }) => status_code === status)).toBe(true);
    },
  );

  it('mostly go well', () => {
    expect(recent.filter(({ status_code }) => status_code < 400).length / recent.length).toBeGreaterThan(0.9);
    expect(recent.filter(({ status_code }) => status_code >= 500).length / recent.length).toBeLessThan(0.02);
  });

  it('have sizes and times that are whole, and not negative, and URLs that are whole URLs', () => {
    expect(recent.filter(({ url }) => !URL.canParse(url))).toEqual([]);
    for (const { url, request_size_bytes, response_size_bytes, response_time_ms, timestamp } of recent)
      for (const number of [request_size_bytes ?? 0, response_size_bytes ?? 0, response_time_ms, timestamp])
        if (!Number.isSafeInteger(number) || number < 0) throw new Error(`${url}: ${number}`);
  });

  describe('tell a story', () => {
    const median = (times: number[]) => times.sort((a, b) => a - b)[times.length >> 1]!;
    const share = (requests: DemoRequest[]) =>
      requests.filter(({ status_code }) => status_code >= 400).length / requests.length;
    const since = (days: number) => recent.filter(({ timestamp }) => timestamp >= END - days * DAY_MS);
    const before = (days: number) => recent.filter(({ timestamp }) => timestamp < END - days * DAY_MS);

    it('of a route that became slow three days ago', () => {
      const findMedianTime = (requests: DemoRequest[]) =>
        median(requests.filter(({ path }) => path === SLOW.path).map((request) => request.response_time_ms));
      expect(findMedianTime(since(3))).toBeGreaterThan(5 * findMedianTime(before(3)));
    });

    it('of a deprecated route that two customers still call', () => {
      const calls = recent.filter(({ path }) => path === DEPRECATED.endpoint.path);
      expect([...countBy(({ consumer }) => consumer?.identifier ?? '', calls).keys()].sort()).toEqual(
        DEPRECATED.callers,
      );
      expect(calls.length).toBeGreaterThan(20);
    });

    it('of a consumer whose requests fail since two days ago', () => {
      const of = (requests: DemoRequest[]) =>
        requests.filter(({ consumer }) => consumer?.identifier === FAILING.identifier);
      expect(of(since(2)).length).toBeGreaterThan(20);
      expect(share(of(since(2)))).toBeGreaterThan(0.6);
      expect(share(of(before(2)))).toBeLessThan(0.2);
    });

    it('of an exception that is new since a day', () => {
      const countFailed = (requests: DemoRequest[]) =>
        requests.filter(({ path, status_code }) => path === BROKEN.path && status_code === 500).length;
      expect(countFailed(since(1))).toBeGreaterThan(5);
      expect(countFailed(before(1))).toBe(0);
    });
  });

  it('are excluded from the logs where the rule says so, for all health checks and few others', () => {
    const excluded = recent.filter(({ excluded_from_logs }) => excluded_from_logs);
    expect(
      recent.filter(({ path, url, userAgent }) => isStaticAssetOrHealthCheck(path, url, userAgent)),
    ).toEqual(excluded);
    expect(countBy(({ path }) => path ?? 'none', excluded).size).toBe(3);
  });
});

describe('13 months of requests', () => {
  const day = (start: number) => [...requestsBetween(start, start + DAY_MS, ORIGIN)].length;
  const week = (start: number) => [...requestsBetween(start, start + 7 * DAY_MS, ORIGIN)].length;

  it('are more by day than by night', () => {
    const hours = countBy(({ timestamp }) => String(new Date(timestamp).getUTCHours()));
    expect(hours.get('14')).toBeGreaterThan(2 * (hours.get('2') ?? 0));
  });

  it('are more on a Wednesday than on the Sunday after', () => {
    const wednesday = Date.UTC(2026, 3, 22);
    expect(day(wednesday)).toBeGreaterThan(1.3 * day(wednesday + 4 * DAY_MS));
  });

  it('grow', () => {
    expect(week(END - 7 * DAY_MS)).toBeGreaterThan(1.5 * week(ORIGIN));
  });
});
