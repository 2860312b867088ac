import request from 'supertest';
import { ABSENT } from '../factories/request.factory.js';
import { TestApp } from '../setup/app.js';
import { holdClock, releaseClock } from '../setup/clock.js';
import { type LogBody, type Query, Tenant } from '../setup/tenant.js';

const SECOND = 1_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const iso = (epochMs: number) => new Date(epochMs).toISOString();
const urls = (records: LogBody[]) => records.map(({ url }) => url);

describe('GET /v1/apps/{app_id}/request-logs', () => {
  let app: TestApp;
  let tenant: Tenant;

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

    it("has the record's members in the specification's order", async () => {
      const [record] = await tenant.write({
        env: 'staging',
        consumer: { identifier: 'bob@example.com', name: 'Bob', group: 'Partners' },
        method: 'POST',
        path: '/v1/users/{user_id}',
        url: 'https://api.example.com/v1/users/7?full=1&token=******',
        status_code: 422,
        request_size_bytes: 17,
        response_size_bytes: 4_096,
        response_time_ms: 23,
        client_ip: '2001:db8::7',
        client_country_iso_code: 'NO',
      });
      expect((await tenant.get('request-logs')).text).toBe(
        `{"data":[{"timestamp":"${iso(record!.timestamp)}","request_uuid":"${record!.request_uuid}",` +
          '"env":"staging","consumer":"bob@example.com","method":"POST","path":"/v1/users/{user_id}",' +
          '"url":"https://api.example.com/v1/users/7?full=1&token=******","status_code":422,' +
          '"request_size_bytes":17,"response_size_bytes":4096,"response_time_ms":23,' +
          '"client_ip":"2001:db8::7","client_country_iso_code":"NO"}],"has_more":false}',
      );
    });

    it('has null for each member that is absent, and 0 where something is 0 or the time is unknown', async () => {
      await tenant.write({ ...ABSENT, timestamp: Date.now() - 2 * SECOND, response_time_ms: null });
      await tenant.write({ request_size_bytes: 0, response_size_bytes: 0, response_time_ms: 0 });
      const { data } = await tenant.logs();
      expect(data[0]).toMatchObject({ ...ABSENT, response_time_ms: 0 });
      expect(data[1]).toMatchObject({ request_size_bytes: 0, response_size_bytes: 0, response_time_ms: 0 });
      expect(Object.keys(data[0]!)).toEqual(Object.keys(data[1]!));
    });

    it('has an empty page when nothing was logged', async () => {
      expect((await tenant.get('request-logs')).text).toBe('{"data":[],"has_more":false}');
    });

    it('has a record only once if the store has copies of it', async () => {
      await tenant.write({}, {}, {});
      const copy = 'INSERT INTO request_logs_v1 SELECT * FROM request_logs_v1 WHERE app_id = {app_id:UInt32}';
      await app.store.command(copy, { app_id: tenant.appId });
      const { data } = await tenant.logs();
      expect(data).toHaveLength(3);
      const { data: first, next_token } = await tenant.logs({ limit: 1 });
      const rest = await tenant.logs({ next_token: next_token! });
      expect([...first, ...rest.data]).toEqual(data);
    });

    it('gives text as it was given, and large integers with all their digits', async () => {
      const odd = String.raw`"q" \ 'n' {x:String} %00 </script> 株式会社 🚀` + '\n\t\u2028';
      const [record] = await tenant.write({
        url: `https://api.example.com/${odd}`,
        path: `/${odd}`,
        env: odd,
        consumer: { identifier: odd },
        response_size_bytes: 9_007_199_254_740_991,
        response_time_ms: 4_294_967_295,
      });
      const { text, body } = await tenant.get('request-logs');
      expect(body.data[0]).toMatchObject({ url: record!.url, path: record!.path, env: odd, consumer: odd });
      expect(text).toContain('"response_size_bytes":9007199254740991,"response_time_ms":4294967295');
    });

    it('leaves out requests that are counted only, and those of other apps', async () => {
      await (await tenant.sibling()).write({ url: 'of the sibling' });
      await (await Tenant.create(app)).write({ url: 'of a stranger' });
      await tenant.write({ url: 'mine' }, { url: 'a health check', excluded_from_logs: true });
      expect(urls((await tenant.logs()).data)).toEqual(['mine']);
    });

    it('is ordered newest first, and gives ties one order that stays', async () => {
      const base = Date.now() - HOUR;
      const ages = [5, 0, 3, 3, 3, 1, 3, 5, 3, 0];
      await tenant.write(...ages.map((age) => ({ timestamp: base - age })));
      await tenant.write(...ages.map((age) => ({ timestamp: base - age })));
      const { data } = await tenant.logs();
      const times = data.map(({ timestamp }) => Date.parse(timestamp));
      expect(times).toEqual([...ages, ...ages].map((age) => base - age).sort((a, b) => b - a));
      const oneByOne = await tenant.readAllPages<LogBody>('request-logs', {}, () => 1);
      expect(oneByOne).toEqual(data);
    });
  });

  describe('window', () => {
    beforeEach(startOver);

    const at = Date.now() - 2 * DAY;

    it('holds its start and not its end', async () => {
      const times = [at - 1, at, at + 1, at + SECOND - 1, at + SECOND];
      await tenant.write(...times.map((timestamp) => ({ timestamp })));
      const { data } = await tenant.logs({ start: iso(at), end: iso(at + SECOND) });
      expect(data.map(({ timestamp }) => timestamp)).toEqual([at + SECOND - 1, at + 1, at].map(iso));
    });

    it('is the last 24 hours by default', async () => {
      const now = holdClock();
      const times = [now - DAY - 1, now - DAY, now - 1, now, now + 1];
      await tenant.write(...times.map((timestamp) => ({ timestamp })));
      const { data } = await tenant.logs();
      expect(data.map(({ timestamp }) => timestamp)).toEqual([now - 1, now - DAY].map(iso));
    });

    it('ends now when only a start is given, and starts 24 hours before now when only an end is', async () => {
      const now = holdClock();
      const times = [now - 2 * DAY, now - DAY - 1, now - DAY, now - HOUR, now - 1, now];
      await tenant.write(...times.map((timestamp) => ({ timestamp })));
      const found = async (query: Query) =>
        (await tenant.logs(query)).data.map(({ timestamp }) => Date.parse(timestamp) - now);
      expect(await found({ start: iso(now - 2 * DAY) })).toEqual([-1, -HOUR, -DAY, -DAY - 1, -2 * DAY]);
      expect(await found({ end: iso(now - HOUR) })).toEqual([-DAY]);
    });

    it('may lie in the future, where requests with a clock ahead are', async () => {
      await tenant.write({ timestamp: Date.now() + HOUR, url: 'ahead' });
      expect(urls((await tenant.logs({ end: iso(Date.now() + DAY) })).data)).toEqual(['ahead']);
    });

    const midnight = Math.floor(at / DAY) * DAY;
    const local = (offset: number) => iso(midnight + offset).slice(0, -'.000Z'.length);
    describe('has a start in many forms', () => {
      // Each form names the instant of one request; the window from there to the next millisecond holds just
      // that.
      const forms: [string, string, number][] = [
        ['a date', iso(midnight).slice(0, 10), midnight],
        ['no seconds', `${local(5 * HOUR).slice(0, 16)}Z`, midnight + 5 * HOUR],
        ['no offset', local(5 * HOUR), midnight + 5 * HOUR],
        ['a blank between', `${local(5 * HOUR).replace('T', ' ')}Z`, midnight + 5 * HOUR],
        ['small letters', `${local(5 * HOUR).replace('T', 't')}z`, midnight + 5 * HOUR],
        ['an offset', `${local(5 * HOUR)}+02:00`, midnight + 3 * HOUR],
        ['an offset without colon', `${local(5 * HOUR)}-0330`, midnight + 8.5 * HOUR],
        ['an offset of hours', `${local(5 * HOUR)}+02`, midnight + 3 * HOUR],
        ['one digit of a second', `${local(5 * HOUR)}.5Z`, midnight + 5 * HOUR + 500],
        ['nanoseconds, cut', `${local(5 * HOUR)}.123999999Z`, midnight + 5 * HOUR + 123],
      ];

      let sharedTenant: Tenant;
      beforeAll(async () => {
        await startOver();
        sharedTenant = tenant;
        const times = new Set(forms.map(([, , timestamp]) => timestamp));
        await sharedTenant.write(
          ...[...times].flatMap((time) => [-1, 0, 1].map((by) => ({ timestamp: time + by }))),
        );
      });

      it.each(forms)('reads %s: %s', async (_, start, timestamp) => {
        const { data } = await sharedTenant.logs({ start, end: iso(timestamp + 1) });
        expect(data.map((record) => record.timestamp)).toEqual([iso(timestamp)]);
      });
    });

    it('cuts its end to the millisecond as well', async () => {
      await tenant.write({ timestamp: at }, { timestamp: at - 1 });
      const { data } = await tenant.logs({ start: iso(at - 1), end: iso(at).replace('Z', '999Z') });
      expect(data.map(({ timestamp }) => timestamp)).toEqual([iso(at - 1)]);
    });

    it('reads an unescaped + of an offset, which arrives as a blank', async () => {
      await tenant.write({ timestamp: midnight + 3 * HOUR });
      const query = `start=${local(5 * HOUR)}+02:00&end=${local(5 * HOUR)}.001+0200`;
      const response = await request(app.url)
        .get(`/v1/apps/${tenant.appId}/request-logs?${query}`)
        .set('Api-Key', tenant.key);
      expect([response.status, response.body.data.length]).toEqual([200, 1]);
    });

    it.each([
      ['equal', 0],
      ['reversed', 1],
    ])('is a 422 with its bounds %s', async (_, by) => {
      const { status, body } = await tenant.get('request-logs', { start: iso(at + by), end: iso(at) });
      expect([status, body.detail.length]).toEqual([422, 1]);
      expect(body.detail[0]).toMatchObject({
        type: 'value_error',
        loc: ['query', 'start'],
        msg: 'Value error, start must be before end',
      });
    });
  });

  describe('404', () => {
    beforeAll(startOver);

    it.each([1_999_999_999, '99999999999999999999'])('for the app %s', async (id) => {
      const response = await app.get(`/v1/apps/${id}/request-logs`, tenant.key);
      expect([response.status, response.text]).toEqual([404, '{"detail":"App not found"}']);
    });
  });
});
