import { DateTime } from 'luxon';
import { buildRequest } from '../factories/request.factory.js';
import { TestApp } from '../setup/app.js';
import { holdClock, releaseClock } from '../setup/clock.js';
import { type ClockChange, LocalClock, expectTraffic } from '../setup/local-clock.js';
import { type Query, Tenant, type TrafficBody } from '../setup/tenant.js';

const MINUTE = 60_000;
const QUARTER = 15 * MINUTE;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const now = Date.now();
const iso = (epochMs: number) => new Date(epochMs).toISOString();
const getLength = ({ period_start, period_end }: TrafficBody) =>
  Date.parse(period_end) - Date.parse(period_start);

/** Over a year, yet well inside the 13 months for which traffic is kept: each yearly change is in it. */
function createClock(zone: string): LocalClock {
  return new LocalClock(zone, now - 385 * DAY, now - 3 * DAY);
}

/** The first and the last millisecond of each quarter of an hour between two instants, no two of one size. */
function requestsBetween(from: number, to: number) {
  const quarters = Array.from({ length: (to - from) / QUARTER }, (_, n) => from + n * QUARTER);
  return quarters
    .flatMap((at) => [at, at + QUARTER - 1])
    .map((timestamp, n) =>
      buildRequest({ timestamp, request_size_bytes: n + 1, response_size_bytes: 1_000 * n }),
    );
}

describe('GET /v1/apps/{app_id}/traffic in a timezone', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start();
  });

  afterEach(releaseClock);
  afterAll(() => app.stop());

  const walk = (query: Query) => tenant.readAllPages<TrafficBody>('traffic', query, () => 50);

  describe.each([
    ['Europe/Berlin', 'forward', 23, 23],
    ['Europe/Berlin', 'back', 25, 25],
    ['America/New_York', 'forward', 23, 23],
    ['America/New_York', 'back', 25, 25],
    ['Australia/Lord_Howe', 'forward', 23.5, 24],
    ['Australia/Lord_Howe', 'back', 24.5, 25],
    ['Pacific/Chatham', 'forward', 23, 24],
    ['Pacific/Chatham', 'back', 25, 26],
  ])('%s, its clock put %s', (timezone, direction, hours, periods) => {
    const clock = createClock(timezone);
    const change = clock.changes.findLast(
      ({ before, after }) => after > before === (direction === 'forward'),
    )!;
    const day = clock.at(change.at).startOf('day');
    const [start, end] = [day.minus({ days: 1 }), day.plus({ days: 2 })];
    const requests = requestsBetween(start.toMillis(), end.toMillis());
    /** As a client of that zone writes it, without an offset. */
    const local = (time: DateTime) => time.toFormat("yyyy-MM-dd'T'HH:mm");
    const query = { timezone, start: local(start), end: local(end) };

    beforeAll(async () => {
      tenant = await Tenant.create(app);
      const around = requestsBetween(start.toMillis() - DAY, end.toMillis() + DAY);
      const outside = around.filter(
        ({ timestamp }) => timestamp < start.toMillis() || timestamp >= end.toMillis(),
      );
      await tenant.write(...outside, ...requests);
    });

    it('has every hour of its clock once, and an hour shown again as a period of its own', async () => {
      const data = await walk(query);
      expectTraffic(data, requests, clock, 'hour');
      expect(data).toHaveLength(24 + periods + 24);
      expect(data.reduce((sum, period) => sum + getLength(period), 0)).toBe((24 + hours + 24) * HOUR);
    });

    it(`has a day of ${hours} hours`, async () => {
      const data = await walk({ ...query, interval: 'day' });
      expectTraffic(data, requests, clock, 'day');
      expect(data.map((period) => getLength(period) / HOUR)).toEqual([24, hours, 24]);
    });

    it('sums up to the requests', async () => {
      for (const interval of ['hour', 'day']) {
        const data = await walk({ ...query, interval });
        const total = (name: 'requests' | 'bytes_received' | 'bytes_sent') =>
          data.reduce((sum, period) => sum + period[name], 0);
        expect([total('requests'), total('bytes_received'), total('bytes_sent')]).toEqual([
          requests.length,
          requests.reduce((sum, request) => sum + request.request_size_bytes!, 0),
          requests.reduce((sum, request) => sum + request.response_size_bytes!, 0),
        ]);
      }
    });
  });

  describe.each([
    ['Asia/Kolkata', 30],
    ['Asia/Kathmandu', 15],
    ['UTC', 0],
    ['Pacific/Kiritimati', 0],
  ])('%s, whose clock never changes', (timezone, minute) => {
    const clock = createClock(timezone);
    const start = clock.at(now - 20 * DAY).startOf('day');
    const requests = requestsBetween(start.toMillis(), start.toMillis() + 2 * DAY);
    const query = { timezone, start: start.toISODate()!, end: start.plus({ days: 2 }).toISODate()! };

    beforeAll(async () => {
      tenant = await Tenant.create(app);
      await tenant.write(...requests);
    });

    it(`has hours that begin ${minute} minutes past those of UTC`, async () => {
      const data = await walk(query);
      expectTraffic(data, requests, clock, 'hour');
      expect(new Set(data.map(({ period_start }) => new Date(period_start).getUTCMinutes()))).toEqual(
        new Set([minute]),
      );
      expect(data.map(getLength)).toEqual(Array.from({ length: 48 }, () => HOUR));
    });

    it('has days that begin at its midnight', async () => {
      const data = await walk({ ...query, interval: 'day' });
      expectTraffic(data, requests, clock, 'day');
      expect(Date.parse(data[0]!.period_start)).toBe(start.toMillis());
      expect(data.map(getLength)).toEqual([DAY, DAY]);
    });

    it.each(['00:00', '00:01', '03:10', '12:40', '23:59'])(
      'rounds a start at %s down to the beginning of its own hour or day',
      async (time) => {
        const second = start.plus({ days: 1 });
        const hour = second.set({ hour: Number(time.slice(0, 2)) });
        const from = { ...query, start: `${second.toISODate()!}T${time}` };
        const first = async (interval: string) => (await tenant.traffic({ ...from, interval })).data[0]!;
        expect(Date.parse((await first('day')).period_start)).toBe(second.toMillis());
        expect(Date.parse((await first('hour')).period_start)).toBe(hour.toMillis());
      },
    );
  });

  describe('a time without an offset', () => {
    const clock = createClock('Europe/Berlin');
    const last = (find: (change: ClockChange) => boolean) => clock.changes.findLast(find)!.at;

    beforeEach(async () => {
      tenant = await Tenant.create(app);
    });

    /**
     * The first period of a window whose start is half an hour into the hour that the clock skips or repeats.
     */
    const first = async (at: number, offsetBefore: string) => {
      await tenant.write(...[-90, -30, 30, 90].map((minutes) => ({ timestamp: at + minutes * MINUTE })));
      const day = clock.at(at).toISODate()!;
      const query = { timezone: 'Europe/Berlin', start: `${day}T02:30`, end: iso(at + DAY) };
      const { data } = await tenant.traffic(query);
      expect(clock.at(at - 1).toFormat('ZZ')).toBe(offsetBefore);
      return (Date.parse(data[0]!.period_start) - at) / HOUR;
    };

    it('that the clock skips is as much later as was skipped', async () => {
      expect(
        await first(
          last(({ before, after }) => after > before),
          '+01:00',
        ),
      ).toBe(0);
    });

    it('that the clock repeats is the first of the two', async () => {
      expect(
        await first(
          last(({ before, after }) => after < before),
          '+02:00',
        ),
      ).toBe(-1);
    });

    it('is of the timezone; one with an offset says its own', async () => {
      const at = clock
        .at(now - 9 * DAY)
        .startOf('day')
        .plus({ hours: 12 });
      const requests = [-1, 0, 1, 2].map((hour) => ({ timestamp: at.toMillis() + hour * HOUR }));
      await tenant.write(...requests);
      const wall = at.setZone('Asia/Kolkata').toFormat("yyyy-MM-dd'T'HH:mm");
      const found = async (start: string) => {
        const query = { timezone: 'Asia/Kolkata', start, end: iso(at.toMillis() + DAY) };
        return (await tenant.traffic(query)).data.map(({ period_start }) => period_start);
      };
      expect(await found(`${wall}+05:30`)).toEqual(await found(wall));
      expect(await found(wall)).toHaveLength(3);
      expect(await found(at.toISO()!)).toEqual(await found(wall));
      expect(await found(`${wall}-01:00`)).toEqual([]);
    });
  });

  it('begins its default window with a period of the timezone', async () => {
    holdClock(now);
    tenant = await Tenant.create(app);
    const begin = DateTime.fromMillis(now - 30 * DAY, { zone: 'Asia/Kathmandu' })
      .startOf('day')
      .toMillis();
    await tenant.write({ timestamp: begin - 1 }, { timestamp: begin }, { timestamp: begin + DAY });
    const { data } = await tenant.traffic({ interval: 'day', timezone: 'Asia/Kathmandu' });
    expect(data.map(({ period_start }) => Date.parse(period_start))).toEqual([begin, begin + DAY]);
  });

  it.each(['', 'Mars/Olympus', '+02:00', 'Europe/Berlin ', 'CEST'])('is a 422 as %j', async (timezone) => {
    const { status, body } = await tenant.get('traffic', { timezone });
    expect([status, body.detail[0].msg]).toEqual([422, 'Value error, unknown timezone']);
  });
});
