import { TestApp } from '../setup/app.js';
import { holdClock, releaseClock } from '../setup/clock.js';
import { type Query, Tenant, type TrafficBody } from '../setup/tenant.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** IDs that are valid and name nothing: unknown, past 32 bits, past 2^53, past 64 bits. */
const UNKNOWN_ID = [1_999_999_999, '4294967296', '9007199254740993', '99999999999999999999999999'];

const iso = (epochMs: number) => new Date(epochMs).toISOString();
const seconds = (epochMs: number) => iso(epochMs).replace('.000Z', 'Z');
const starts = (records: TrafficBody[]) => records.map(({ period_start }) => Date.parse(period_start));
const counts = (records: TrafficBody[]) => records.map(({ requests }) => requests);

describe('GET /v1/apps/{app_id}/traffic', () => {
  let app: TestApp;
  let tenant: Tenant;
  /** A UTC midnight some days ago. */
  const midnight = Math.floor(Date.now() / DAY) * DAY - 5 * DAY;

  beforeAll(async () => {
    app = await TestApp.start();
  });

  const startOver = async () => {
    tenant = await Tenant.create(app);
  };

  afterEach(releaseClock);
  afterAll(() => app.stop());

  describe('200', () => {
    beforeEach(startOver);

    it("has the record's members in the specification's order, and whole seconds", async () => {
      const at = midnight + 3 * HOUR;
      await tenant.write(
        { timestamp: at + 1, request_size_bytes: 10, response_size_bytes: 1_000 },
        { timestamp: at + HOUR - 1, request_size_bytes: 7, response_size_bytes: 500 },
      );
      const { text } = await tenant.get('traffic', { start: iso(midnight), end: iso(midnight + DAY) });
      expect(text).toBe(
        `{"data":[{"period_start":"${seconds(at)}","period_end":"${seconds(at + HOUR)}","requests":2,` +
          '"bytes_received":17,"bytes_sent":1500}],"has_more":false}',
      );
    });

    it('is oldest first, and leaves out periods without requests', async () => {
      const hours = [7, 2, 2, 23, 0];
      await tenant.write(...hours.map((hour) => ({ timestamp: midnight + hour * HOUR })));
      const { data } = await tenant.traffic({ start: iso(midnight), end: iso(midnight + DAY) });
      expect(starts(data)).toEqual([0, 2, 7, 23].map((hour) => midnight + hour * HOUR));
      expect(counts(data)).toEqual([1, 2, 1, 1]);
    });

    it('stays at the largest integer that clients read where a sum is beyond it', async () => {
      const size = Number.MAX_SAFE_INTEGER;
      const requests = Array.from({ length: 2_060 }, (_, n) => ({
        timestamp: midnight + n,
        path: `/${n}`,
        response_size_bytes: size,
      }));
      await tenant.write(...requests);
      const { text } = await tenant.get('traffic', { start: iso(midnight), end: iso(midnight + DAY) });
      expect(text).toContain('"bytes_sent":9223372036854775807}');
      await tenant.write({ timestamp: midnight + 5 * HOUR, response_size_bytes: size });
      const later = await tenant.get('traffic', { start: iso(midnight + HOUR), end: iso(midnight + DAY) });
      expect(later.text).toContain(`"bytes_sent":${size}}`);
    });

    it('has an empty page when there was nothing', async () => {
      expect((await tenant.get('traffic')).text).toBe('{"data":[],"has_more":false}');
    });

    it('counts static assets, health checks and requests without a route; unknown sizes are no bytes', async () => {
      await tenant.write(
        { timestamp: midnight, path: '/healthz', excluded_from_logs: true, response_size_bytes: 3 },
        { timestamp: midnight, path: null, request_size_bytes: null, response_size_bytes: null },
        { timestamp: midnight, request_size_bytes: 1, response_size_bytes: 2 },
      );
      expect((await tenant.traffic({ start: iso(midnight) })).data).toMatchObject([
        { requests: 3, bytes_received: 1, bytes_sent: 5 },
      ]);
    });

    it('has exact sums, past 2^53 as well', async () => {
      const huge = { timestamp: midnight, response_size_bytes: 9_007_199_254_740_991 };
      await tenant.write(huge, huge, { ...huge, response_size_bytes: 3 });
      const { text } = await tenant.get('traffic', { start: iso(midnight) });
      expect(text).toContain('"bytes_sent":18014398509481985}');
    });

    it('counts what client libraries counted, beside what is logged', async () => {
      const count = { timestamp: midnight, env: 'prod', consumer: null, method: 'GET', path: '/users/{id}' };
      const sums = { status_code: 200, requests: 40, bytes_received: 400, bytes_sent: 4_000, bins: [] };
      await app.writer.writeCounts(tenant.appId, [{ ...count, ...sums }], 'c0ffee');
      await tenant.write({ timestamp: midnight, request_size_bytes: 1, response_size_bytes: 2 });
      for (const interval of ['hour', 'day'])
        expect((await tenant.traffic({ start: iso(midnight), interval })).data).toMatchObject([
          { requests: 41, bytes_received: 401, bytes_sent: 4002 },
        ]);
    });

    it('sums over the requests of this app alone', async () => {
      await (await tenant.sibling()).write({ timestamp: midnight });
      await (await Tenant.create(app)).write({ timestamp: midnight });
      await tenant.write({ timestamp: midnight });
      expect(counts((await tenant.traffic({ start: iso(midnight) })).data)).toEqual([1]);
    });
  });

  describe('interval', () => {
    beforeAll(async () => {
      await startOver();
      const hours = [0, 1, 25, 26];
      await tenant.write(...hours.map((hour) => ({ timestamp: midnight + hour * HOUR + 30 * MINUTE })));
    });

    it.each([
      [{}, [0, 1, 25, 26], HOUR],
      [{ interval: 'hour' }, [0, 1, 25, 26], HOUR],
      [{ interval: 'day' }, [0, 24], DAY],
      [{ intervals: 'days' }, [0, 24], DAY],
      [{ intervals: 'day' }, [0, 24], DAY],
      [{ intervals: 'hours' }, [0, 1, 25, 26], HOUR],
      [{ interval: 'day', intervals: 'hours' }, [0, 24], DAY],
      [{ interval: 'day', intervals: 'weeks' }, [0, 24], DAY],
    ])('%j', async (query, hours, length) => {
      const { data } = await tenant.traffic({ ...query, start: iso(midnight), end: iso(midnight + 2 * DAY) });
      expect(starts(data)).toEqual(hours.map((hour) => midnight + hour * HOUR));
      for (const { period_start, period_end } of data)
        expect(Date.parse(period_end) - Date.parse(period_start)).toBe(length);
    });

    it.each(['', 'Hour', 'week', 'day,hour'])('is a 422 as %j', async (interval) => {
      const { status, body } = await tenant.get('traffic', { interval });
      expect([status, body.detail[0].type]).toEqual([422, 'literal_error']);
    });

    it('is a 422 by its older name as well', async () => {
      const { status, body } = await tenant.get('traffic', { intervals: 'weeks' });
      expect([status, body.detail]).toMatchObject([
        422,
        [{ type: 'literal_error', loc: ['query', 'intervals'], input: 'weeks' }],
      ]);
    });
  });

  describe('window', () => {
    beforeEach(startOver);

    it.each([
      ['hour', HOUR],
      ['day', DAY],
    ])(
      'begins with the %s that holds its start, and a period that begins before its end counts whole',
      async (interval, length) => {
        const [first, last] = [midnight - 2 * length, midnight + 2 * length];
        const times = [first - 1, first, midnight, last, last + length - 1, last + length];
        await tenant.write(...times.map((timestamp) => ({ timestamp })));
        const found = async (start: number, end: number) => {
          const { data } = await tenant.traffic({ interval, start: iso(start), end: iso(end) });
          return starts(data).map((at, index) => [(at - midnight) / length, data[index]!.requests]);
        };
        // Anywhere inside a period at the start is its beginning; the end is exclusive.
        expect(await found(first + length - 1, last + 1)).toEqual([
          [-2, 1],
          [0, 1],
          [2, 2],
        ]);
        expect(await found(first, last + length)).toEqual([
          [-2, 1],
          [0, 1],
          [2, 2],
        ]);
        expect(await found(first + length, last)).toEqual([[0, 1]]);
        expect(await found(first - 1, last + length + 1)).toEqual([
          [-3, 1],
          [-2, 1],
          [0, 1],
          [2, 2],
          [3, 1],
        ]);
        expect(await found(midnight + 1, midnight + 2)).toEqual([[0, 1]]);
      },
    );

    it.each([
      ['hour', HOUR, 24],
      ['day', DAY, 30],
    ])(
      'for %s begins %i × %i ms before now by default, rounded down, and ends now',
      async (interval, length, spans) => {
        const now = holdClock();
        const first = Math.floor((now - spans * length) / length) * length;
        const current = Math.floor(now / length) * length;
        const times = [first - 1, first, first + 1, current, current + length];
        await tenant.write(...times.map((timestamp) => ({ timestamp })));
        const { data } = await tenant.traffic({ interval });
        expect(starts(data)).toEqual([first, current]);
        expect(counts(data)).toEqual([2, 1]);
      },
    );

    it.each(['hour', 'day'])('in %s is a 422 with its bounds equal or reversed', async (interval) => {
      for (const by of [0, 1]) {
        const query = { interval, start: iso(midnight + by), end: iso(midnight) };
        const { status, body } = await tenant.get('traffic', query);
        expect([status, body.detail[0].loc, body.detail[0].msg]).toEqual([
          422,
          ['query', 'start'],
          'Value error, start must be before end',
        ]);
      }
    });

    it('is empty where it lies in the future', async () => {
      const { data } = await tenant.traffic({ start: iso(Date.now() + 9 * DAY), end: '9999-12-31' });
      expect(data).toEqual([]);
    });
  });

  describe('filters', () => {
    beforeAll(async () => {
      await startOver();
      await tenant.write(
        { timestamp: midnight, env: 'prod', consumer: { identifier: 'anna' }, response_size_bytes: 1 },
        { timestamp: midnight, env: 'dev', consumer: { identifier: 'anna' }, response_size_bytes: 20 },
        { timestamp: midnight, env: 'prod', consumer: { identifier: 'ben' }, response_size_bytes: 300 },
        { timestamp: midnight, env: 'prod', consumer: null, response_size_bytes: 4000 },
      );
    });

    const sent = async (query: Query) => {
      const { data } = await tenant.traffic({ start: iso(midnight), ...query });
      return data.map(({ bytes_sent }) => bytes_sent);
    };

    it.each<Query>([{ interval: 'day' }, { interval: 'hour' }, { timezone: 'Asia/Kolkata' }])(
      'are combined with AND in %j',
      async (how) => {
        const app_env_id = await tenant.envId('prod');
        const consumer_id = await tenant.consumerId('anna');
        expect(await sent(how)).toEqual([4321]);
        expect(await sent({ ...how, app_env_id })).toEqual([4301]);
        expect(await sent({ ...how, consumer_id })).toEqual([21]);
        expect(await sent({ ...how, app_env_id, consumer_id })).toEqual([1]);
      },
    );

    it.each(UNKNOWN_ID)('give an empty page, and no error, for the ID %s', async (id) => {
      for (const name of ['app_env_id', 'consumer_id'])
        expect((await tenant.get('traffic', { [name]: id, start: iso(midnight) })).text).toBe(
          '{"data":[],"has_more":false}',
        );
    });

    it('give an empty page for IDs of another app', async () => {
      const sibling = await tenant.sibling();
      await sibling.write({ env: 'prod', consumer: { identifier: 'anna' } });
      expect(await sent({ app_env_id: await sibling.envId('prod') })).toEqual([]);
      expect(await sent({ consumer_id: await sibling.consumerId('anna') })).toEqual([]);
    });
  });

  describe('404', () => {
    beforeAll(startOver);

    it.each([1_999_999_999, '99999999999999999999'])('for the app %s', async (id) => {
      const response = await app.get(`/v1/apps/${id}/traffic`, tenant.key);
      expect([response.status, response.text]).toEqual([404, '{"detail":"App not found"}']);
    });
  });
});
