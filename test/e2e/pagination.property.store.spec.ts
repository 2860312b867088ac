import fc from 'fast-check';
import type { RequestRecord } from '../../src/records/request-record.js';
import { buildRequest } from '../factories/request.factory.js';
import { TestApp } from '../setup/app.js';
import { type ConsumerBody, type LogBody, Tenant, type TrafficBody } from '../setup/tenant.js';

/** More with `PROPERTY_RUNS`, as in a nightly run: each is several requests. */
const RUNS = Number(process.env.PROPERTY_RUNS ?? 4);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const base = Math.floor(Date.now() / HOUR) * HOUR - 48 * HOUR;
const iso = (epochMs: number) => new Date(epochMs).toISOString();
const WINDOW = { start: iso(base), end: iso(base + 12 * HOUR) };

/**
 * Few instants and few UUID endings, so that many records share a timestamp and neighbours differ in little.
 */
const milliseconds = fc.oneof(
  fc.integer({ min: 0, max: 4 }),
  fc.integer({ min: -2, max: 12 }).map((hours) => hours * HOUR),
);
const records = (maxLength: number) =>
  fc.array(
    fc
      .record({ at: milliseconds, uuid: fc.uuid(), consumer: fc.integer({ min: 0, max: 12 }) })
      .map(({ at, uuid, consumer }): Partial<RequestRecord> => ({
        timestamp: base + at,
        request_uuid: uuid,
        consumer: { identifier: `consumer ${consumer}` },
      })),
    { maxLength },
  );
/** What happens before each page: a limit is chosen, and sometimes records arrive. */
const pages = (largest: number) =>
  fc.array(
    fc.record({
      limit: fc.integer({ min: 1, max: largest }),
      arriving: fc.oneof(records(0), records(4)),
    }),
    { minLength: 1, maxLength: 5 },
  );

/** No item twice, in the order that `compare` says, and each of those that were there before among them. */
function expectOnce<Item>(
  walked: readonly Item[],
  before: readonly Item[],
  key: (item: Item) => string | number,
  inOrder: (previous: Item, next: Item) => boolean,
) {
  const keys = walked.map(key);
  expect(new Set(keys).size).toBe(keys.length);
  expect(new Set(keys)).toEqual(new Set([...keys, ...before.map(key)]));
  for (const [index, item] of walked.slice(1).entries()) expect(inOrder(walked[index]!, item)).toBe(true);
}

describe('a walk over the pages visits what existed when it began exactly once', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await TestApp.start();
  });

  afterAll(() => app.stop());

  /** Walks with the limits drawn, over and over; before each page the records drawn for it arrive. */
  const walk = <Item>(
    tenant: Tenant,
    resource: string,
    query: Record<string, string>,
    drawn: { limit: number; arriving: Partial<RequestRecord>[] }[],
  ) =>
    tenant.readAllPages<Item>(resource, query, async (page) => {
      const { limit, arriving } = drawn[page % drawn.length]!;
      // Not before the first: what arrives there was there when the walk began.
      if (page > 0 && page <= drawn.length && arriving.length > 0) await tenant.write(...arriving);
      return limit;
    });

  it('of request logs, newest first, ties included', async () => {
    await fc.assert(
      fc.asyncProperty(records(60), pages(12), async (initial, drawn) => {
        const tenant = await Tenant.create(app);
        const written = initial.map(buildRequest);
        await tenant.write(...written);
        const before = (await tenant.logs({ ...WINDOW, limit: 1000 })).data;
        const inWindow = written.filter(({ timestamp }) => timestamp >= base && timestamp < base + 12 * HOUR);
        expect(before.map(({ request_uuid }) => request_uuid).sort()).toEqual(
          inWindow.map(({ request_uuid }) => request_uuid).sort(),
        );
        const walked = await walk<LogBody>(tenant, 'request-logs', WINDOW, drawn);
        const isDescending = (previous: LogBody, next: LogBody) => previous.timestamp >= next.timestamp;
        expectOnce(walked, before, ({ request_uuid }) => request_uuid, isDescending);
        const stayed = new Set(before.map(({ request_uuid }) => request_uuid));
        expect(walked.filter(({ request_uuid }) => stayed.has(request_uuid))).toEqual(before);
      }),
      { numRuns: RUNS },
    );
  });

  it('of consumers, by ID, descending', async () => {
    await fc.assert(
      fc.asyncProperty(records(30), pages(4), async (initial, drawn) => {
        const tenant = await Tenant.create(app);
        await tenant.write(...initial);
        const before = (await tenant.consumers({ limit: 1000 })).data;
        expect(before).toHaveLength(new Set(initial.map(({ consumer }) => consumer?.identifier)).size);
        const walked = await walk<ConsumerBody>(tenant, 'consumers', {}, drawn);
        expectOnce(
          walked,
          before,
          ({ id }) => id,
          (previous, next) => previous.id > next.id,
        );
      }),
      { numRuns: RUNS },
    );
  });

  it('of traffic, oldest period first', async () => {
    await fc.assert(
      fc.asyncProperty(
        records(40),
        pages(4),
        fc.constantFrom('UTC', 'Asia/Kolkata'),
        async (initial, drawn, timezone) => {
          const tenant = await Tenant.create(app);
          await tenant.write(...initial);
          const query = { ...WINDOW, timezone };
          const before = (await tenant.traffic({ ...query, limit: 1000 })).data;
          const walked = await walk<TrafficBody>(tenant, 'traffic', query, drawn);
          const oldestFirst = (previous: TrafficBody, next: TrafficBody) =>
            previous.period_end <= next.period_start;
          expectOnce(walked, before, ({ period_start }) => period_start, oldestFirst);
        },
      ),
      { numRuns: RUNS },
    );
  });
});
