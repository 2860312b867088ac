import fc from 'fast-check';
import { buildRequest } from '../factories/request.factory.js';
import { TestApp } from '../setup/app.js';
import { LocalClock, expectTraffic } from '../setup/local-clock.js';
import { Tenant, type TrafficBody } from '../setup/tenant.js';

/** More with `PROPERTY_RUNS`, as in a nightly run: each is several requests. */
const RUNS = Number(process.env.PROPERTY_RUNS ?? 8);

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ZONES = Intl.supportedValuesOf('timeZone');

/** With windows around them still inside the 13 months for which traffic is kept, and not in the future. */
const now = Date.now();
const [OLDEST, NEWEST] = [now - 380 * DAY, now - 10 * DAY];

const iso = (epochMs: number) => new Date(epochMs).toISOString();

/** An instant of a zone; rather often one near a change of its clock, where the mistakes are. */
const places = fc
  .tuple(fc.constantFrom(...ZONES), fc.integer({ min: OLDEST, max: NEWEST }), fc.nat(), fc.boolean())
  .map(([zone, anywhere, pick, atChange]) => {
    if (!atChange) return { zone, at: anywhere };
    const { changes } = new LocalClock(zone, OLDEST, NEWEST);
    return { zone, at: changes[pick % changes.length]?.at ?? anywhere };
  });
const shapes = fc.constantFrom(
  { interval: 'hour', before: 12 * HOUR, after: 14 * HOUR },
  { interval: 'hour', before: 3 * HOUR, after: 3 * HOUR },
  { interval: 'day', before: 6 * DAY, after: 8 * DAY },
);
/**
 * A place in the window and around it, from its start (0) to its end (1), often near one of these; and two
 * sizes.
 */
const spots = fc.oneof(
  ...[
    { min: -0.3, max: 1.3 },
    { min: -0.15, max: 0.15 },
    { min: 0.85, max: 1.15 },
  ].map((bounds) => fc.double({ ...bounds, noNaN: true })),
);
const requests = fc.array(fc.tuple(spots, fc.nat(5_000), fc.nat()), {
  minLength: 1,
  maxLength: 40,
  size: 'max',
});
const windows = fc.tuple(places, shapes, fc.nat(HOUR), fc.nat(HOUR));

describe('periods of Get Traffic', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await TestApp.start();
  });

  afterAll(() => app.stop());

  it('leave no gap, do not overlap, and sum up to the requests in them', async () => {
    await fc.assert(
      fc.asyncProperty(windows, requests, async ([{ zone, at }, shape, early, late], drawn) => {
        const [start, end] = [at - shape.before - early, at + shape.after + late];
        const records = drawn.map(([place, request_size_bytes, response_size_bytes]) =>
          buildRequest({
            timestamp: Math.round(start + place * (end - start)),
            request_size_bytes,
            response_size_bytes,
          }),
        );
        const tenant = await Tenant.create(app);
        await tenant.write(...records);
        const query = { start: iso(start), end: iso(end), interval: shape.interval, timezone: zone };
        const limit = 10 + (early % 50);
        const found = await tenant.readAllPages<TrafficBody>('traffic', query, () => limit);

        const clock = new LocalClock(zone, start - 3 * DAY, end + 3 * DAY);
        const [first, last] = [start, end - 1].map((edge) => clock.findPeriod(edge, shape.interval));
        const counted = records.filter(({ timestamp }) => {
          const period = clock.findPeriod(timestamp, shape.interval);
          return (start <= timestamp && timestamp < end) || period === first || period === last;
        });
        expectTraffic(found, counted, clock, shape.interval);
      }),
      { numRuns: RUNS },
    );
  });
});
