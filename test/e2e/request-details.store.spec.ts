import { randomUUID } from 'node:crypto';
import { ABSENT } from '../factories/request.factory.js';
import { toRequestUuid } from '../../src/shared/hash-uuid.js';
import { TestApp } from '../setup/app.js';
import { Tenant } from '../setup/tenant.js';

const EMPTY_CAPTURE_JSON =
  '"request_headers":[],"response_headers":[],"request_body_json":null,"response_body_json":null,' +
  '"trace_id":null,"exception":null,"logs":[],"spans":[]';

/** Everything at once, as text: what goes in must come out, character by character. */
const CAPTURE =
  '"request_headers":[["accept","*/*"],["cookie","******"],["accept","text/html"],["x-empty",""]],' +
  '"response_headers":[["content-type","application/json"]],' +
  String.raw`"request_body_json":"{\"password\":\"******\",\"n\":1.0,\"big\":12345678901234567890}",` +
  String.raw`"response_body_json":"[\"株式会社\",\"🚀\",\"a\\\"b\",\"</script>\"]",` +
  '"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",' +
  String.raw`"exception":{"type":"TypeError","message":"it's \"broken\"","stacktrace":"TypeError: x\n    at f (/app/a.js:1:2)\n",` +
  '"tracker_event_id":"c0ffee","sentry_event_id":"c0ffee"},' +
  '"logs":[{"timestamp":"2026-01-02T03:04:05.123456Z","message":"user loaded","level":"INFO","logger":"app.users",' +
  '"file":"users.py","line":17},{"timestamp":"2026-01-02T03:04:05.999999Z","message":"","level":"warning",' +
  '"logger":null,"file":null,"line":null}],' +
  '"spans":[{"span_id":"00f067aa0ba902b7","parent_span_id":null,"name":"GET /users","kind":"SERVER",' +
  '"start_time_ns":1735689600050000001,"end_time_ns":1735689600050000003,"duration_ns":2,"status":"OK",' +
  '"attributes":{"http.status_code":200,"ratio":0.5,"cached":false,"none":null,"tags":["a",1,true,[]],' +
  '"nested":{"deep":{"big":9223372036854775807}},"text":"1"}},' +
  '{"span_id":"00f067aa0ba902b8","parent_span_id":"00f067aa0ba902b7","name":"SELECT","kind":"INTERNAL",' +
  '"start_time_ns":0,"end_time_ns":9223372036854775807,"duration_ns":9007199254740993,"status":"UNSET",' +
  '"attributes":{}}]';

describe('GET /v1/apps/{app_id}/request-logs/{request_uuid}', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start();
    tenant = await Tenant.create(app);
  });

  afterAll(() => app.stop());

  const details = (uuid: string, of = tenant) => of.get(`request-logs/${uuid}`);
  const findLog = async (uuid: string) => {
    const { text } = await tenant.get('request-logs', { limit: 1000 });
    return /\{"timestamp":.*?"client_country_iso_code":[^}]*/.exec(
      text.slice(text.lastIndexOf('{"timestamp"', text.indexOf(uuid))),
    )![0];
  };

  describe('200', () => {
    it('is the request log record and then all that was captured, in order, digit by digit', async () => {
      const [record] = await tenant.write({
        consumer: { identifier: 'bob@example.com' },
        status_code: 500,
        request_size_bytes: 51,
        captured_json: `{${CAPTURE}}`,
      });
      const { status, text, headers } = await details(record!.request_uuid);
      expect(status).toBe(200);
      expect(headers['content-type']).toMatch(/^application\/json/);
      expect(text).toBe(`${await findLog(record!.request_uuid)},${CAPTURE}}`);
      expect(text).toContain('"start_time_ns":1735689600050000001,');
      expect(() => JSON.parse(text) as unknown).not.toThrow();
    });

    it('has its own members where nothing was captured: empty lists, and null', async () => {
      const [record] = await tenant.write({
        timestamp: Date.now() - 3_000,
        env: 'prod',
        consumer: { identifier: 'anna' },
        method: 'PUT',
        path: '/a/{b}',
        url: 'https://x/a/b',
        status_code: 201,
        request_size_bytes: 5,
        response_size_bytes: 7,
        response_time_ms: 9,
        client_ip: '198.51.100.7',
        client_country_iso_code: 'US',
      });
      expect((await details(record!.request_uuid)).text).toBe(
        `{"timestamp":"${new Date(record!.timestamp).toISOString()}","request_uuid":"${record!.request_uuid}",` +
          '"env":"prod","consumer":"anna","method":"PUT","path":"/a/{b}","url":"https://x/a/b","status_code":201,' +
          '"request_size_bytes":5,"response_size_bytes":7,"response_time_ms":9,"client_ip":"198.51.100.7",' +
          `"client_country_iso_code":"US",${EMPTY_CAPTURE_JSON}}`,
      );
    });

    it.each([
      ['of its time', toRequestUuid(randomUUID().replaceAll('-', ''), Date.now() - 60_000)],
      [
        'of a time that it did not have',
        toRequestUuid(randomUUID().replaceAll('-', ''), Date.now() - 90_000),
      ],
      ['of the latest time', 'ffffffff-ffff-8fff-bfff-ffffffffffff'],
      ['of version 4', randomUUID()],
    ])('is found by a UUID %s, captured or not', async (_, request_uuid) => {
      const timestamp = Date.now() - 60_000;
      for (const captured_json of ['', `{${CAPTURE}}`]) {
        const newTenant = await Tenant.create(app);
        expect((await details(request_uuid, newTenant)).status).toBe(404);
        await newTenant.write({ request_uuid, timestamp, captured_json });
        const { status, text } = await details(request_uuid, newTenant);
        expect(status).toBe(200);
        expect(text).toContain(captured_json === '' ? EMPTY_CAPTURE_JSON : CAPTURE);
      }
    });

    it('has the trace ID where nothing else was captured', async () => {
      const trace = EMPTY_CAPTURE_JSON.replace('"trace_id":null', `"trace_id":"${'4bf92f35'.repeat(4)}"`);
      const [record] = await tenant.write({ captured_json: `{${trace}}` });
      const { text } = await details(record!.request_uuid);
      expect(text).toBe(`${await findLog(record!.request_uuid)},${trace}}`);
    });

    it('has null for each member of the record that is absent, and 0 for a size and the time', async () => {
      const [record] = await tenant.write({ ...ABSENT, response_time_ms: null });
      const { body } = await details(record!.request_uuid);
      expect(body).toMatchObject({
        ...ABSENT,
        request_size_bytes: 0,
        response_size_bytes: 0,
        response_time_ms: 0,
      });
    });

    it('is that of its own app where another app has a request with the same UUID at the same time', async () => {
      const other = await Tenant.create(app);
      const same = { request_uuid: randomUUID(), timestamp: Date.now() - 5_000 };
      const capture = (text: string) => `{${CAPTURE.replace('株式会社', text)}}`;
      await tenant.write({ ...same, url: 'https://x/own', captured_json: capture('own') });
      await other.write({ ...same, url: 'https://x/other', captured_json: capture('other') });
      for (const [of, name] of [
        [tenant, 'own'],
        [other, 'other'],
      ] as const) {
        const { body } = await details(same.request_uuid, of);
        expect([body.url, body.response_body_json]).toEqual([
          `https://x/${name}`,
          expect.stringContaining(`["${name}"`),
        ]);
      }
    });

    it.each([
      ['all of 1,000', 1_000, undefined],
      ['1,000 of 1,205', 1_205, '205'],
      ['1,000 of more than are read at once', 12_345, '11345'],
    ])(
      'has %s log records of its trace, and a header says how many are left out',
      async (_, sent, header) => {
        const trace_id = randomUUID().replaceAll('-', '');
        const timestamp = Date.now() - 5_000;
        const captured_json = `{${EMPTY_CAPTURE_JSON.replace('"trace_id":null', `"trace_id":"${trace_id}"`)}}`;
        const [record] = await tenant.write({ timestamp, captured_json });
        const of = { app_id: tenant.appId, app_env_id: await tenant.envId(record!.env), trace_id };
        const log = (index: number) =>
          JSON.stringify({
            ...of,
            span_id: '0'.repeat(15) + String(index % 3),
            level: 'info',
            message: `log ${index}`,
            timestamp_ns: `${timestamp}${String(index).padStart(6, '0')}`,
            record_hash: String(index),
          });
        const records = Array.from({ length: sent }, (__, index) => log(index));
        await app.store.insert('logged_messages', records);
        // Those that came again are none that are left out.
        await app.store.insert('logged_messages', records.slice(0, 700));
        const { body, headers } = await details(record!.request_uuid);
        expect(body.logs.map(({ message }: { message: string }) => message)).toEqual(
          Array.from({ length: 1_000 }, (__, index) => `log ${index}`),
        );
        expect(headers['x-logs-left-out']).toBe(header);
      },
    );

    it('has the spans and log records of its own app alone, also where other apps are in the same trace', async () => {
      const trace_id = randomUUID().replaceAll('-', '');
      const timestamp = Date.now() - 5_000;
      const nanoseconds = `${timestamp}000000`;
      const captured_json = `{${EMPTY_CAPTURE_JSON.replace('"trace_id":null', `"trace_id":"${trace_id}"`)}}`;
      const apps = [tenant, await tenant.sibling(), await Tenant.create(app)];
      const uuids: string[] = [];
      for (const [index, of] of apps.entries()) {
        const [record] = await of.write({ timestamp, captured_json });
        uuids.push(record!.request_uuid);
        const place = { app_id: of.appId, app_env_id: await of.envId(record!.env), trace_id };
        const span_id = String(index + 1).padStart(16, '0');
        const span = { kind: 'CLIENT', status: 'OK', attributes: '{}', events: '[]', duration_ns: '1' };
        await app.store.insert('logged_spans', [
          JSON.stringify({ ...place, ...span, span_id, name: `span ${index}`, start_time_ns: nanoseconds }),
        ]);
        await app.store.insert('logged_messages', [
          JSON.stringify({
            ...place,
            span_id,
            level: 'info',
            message: `log ${index}`,
            timestamp_ns: nanoseconds,
          }),
        ]);
      }
      for (const [index, of] of apps.entries()) {
        const { body } = await details(uuids[index]!, of);
        expect(body).toMatchObject({
          spans: [{ name: `span ${index}` }],
          logs: [{ message: `log ${index}` }],
        });
      }
    });

    it('keeps a text that looks like an absent size', async () => {
      const url = 'https://x/?"request_size_bytes":null,"response_size_bytes":null';
      const [record] = await tenant.write({ url, request_size_bytes: null, response_size_bytes: 3 });
      const { body } = await details(record!.request_uuid);
      expect(body).toMatchObject({ url, request_size_bytes: 0, response_size_bytes: 3 });
    });

    it("has the consumer's ID behind the country where that is asked for", async () => {
      const [of, without] = await tenant.write({ consumer: { identifier: 'cleo' } }, { consumer: null });
      const id = await tenant.consumerId('cleo');
      for (const word of ['true', '1', 'YES', 'on', 't', 'y']) {
        const { text } = await tenant.get(`request-logs/${of!.request_uuid}`, { include_consumer_id: word });
        expect(text).toContain(`"client_country_iso_code":"DE","consumer_id":${id},"request_headers":`);
      }
      const none = await tenant.get(`request-logs/${without!.request_uuid}`, { include_consumer_id: 'true' });
      expect(none.body).toMatchObject({ consumer: null, consumer_id: null });
      for (const word of ['false', '0', 'No', 'off', 'f', 'n']) {
        const { body } = await tenant.get(`request-logs/${of!.request_uuid}`, { include_consumer_id: word });
        expect(body).not.toHaveProperty('consumer_id');
      }
    });

    it('is not led astray by text that looks like its own parts', async () => {
      const trap = String.raw`","capture":"{}","capture":{} \",\"capture\":\" {x:String}`;
      const capture = EMPTY_CAPTURE_JSON.replace(
        '"request_body_json":null',
        `"request_body_json":${JSON.stringify(trap)}`,
      ).replace(
        '"spans":[]',
        `"spans":[{"span_id":"1","parent_span_id":null,"name":${JSON.stringify(trap)},"kind":"CLIENT","start_time_ns":1,` +
          '"end_time_ns":1,"duration_ns":0,"status":"OK","attributes":{"a":1,"capture":"x","b":{"capture":2}}}]',
      );
      const [record] = await tenant.write({
        url: trap,
        client_country_iso_code: 'DE',
        captured_json: `{${capture}}`,
      });
      const { text, body } = await details(record!.request_uuid);
      expect(text.endsWith(`"client_country_iso_code":"DE",${capture}}`)).toBe(true);
      expect([body.url, body.request_body_json, body.spans[0].name]).toEqual([trap, trap, trap]);
    });

    it('gives back bodies of a megabyte', async () => {
      const body = JSON.stringify({ text: 'ä"\\'.repeat(250_000) });
      const capture = EMPTY_CAPTURE_JSON.replace(
        '"response_body_json":null',
        `"response_body_json":${JSON.stringify(body)}`,
      );
      const [record] = await tenant.write({ captured_json: `{${capture}}` });
      expect((await details(record!.request_uuid)).body.response_body_json).toBe(body);
    });

    it('finds the request under each way to write its UUID', async () => {
      const [record] = await tenant.write({ request_uuid: 'aabbccdd-0000-4000-8000-eeff00112233' });
      const uuid = record!.request_uuid;
      const forms = [
        uuid,
        uuid.toUpperCase(),
        uuid.replaceAll('-', ''),
        uuid.replaceAll('-', '').toUpperCase(),
      ];
      for (const form of forms) {
        const { status, body } = await details(form);
        expect([status, body.request_uuid]).toEqual([200, uuid]);
      }
    });

    it('does not depend on the window of the request logs, nor on any query parameter', async () => {
      const [record] = await tenant.write({ timestamp: Date.now() - 14 * 86_400_000 });
      const response = await tenant.get(`request-logs/${record!.request_uuid}`, { start: 'x', limit: 0 });
      expect([response.status, response.body.request_uuid]).toEqual([200, record!.request_uuid]);
    });

    it('keeps requests of one UUID in two apps apart', async () => {
      const sibling = await tenant.sibling();
      const [record] = await tenant.write({ url: 'mine' });
      await sibling.write({ request_uuid: record!.request_uuid, url: 'theirs' });
      const responses = [await details(record!.request_uuid), await details(record!.request_uuid, sibling)];
      expect(responses.map(({ body }) => body.url)).toEqual(['mine', 'theirs']);
    });
  });

  describe('404', () => {
    const NOT_FOUND = [404, '{"detail":"Request log not found"}'];
    const answer = async (uuid: string, of = tenant) => {
      const { status, text } = await details(uuid, of);
      return [status, text];
    };

    it('for a request that is not there', async () => {
      expect(await answer(randomUUID())).toEqual(NOT_FOUND);
      expect(await answer('00000000-0000-0000-0000-000000000000')).toEqual(NOT_FOUND);
    });

    it('for a request of another app, of the same team or another', async () => {
      const [siblings] = await (await tenant.sibling()).write({});
      const [strangers] = await (await Tenant.create(app)).write({});
      expect(await answer(siblings!.request_uuid)).toEqual(NOT_FOUND);
      expect(await answer(strangers!.request_uuid)).toEqual(NOT_FOUND);
    });

    it('for a request that was counted only', async () => {
      const [record] = await tenant.write({ path: '/healthz', excluded_from_logs: true });
      expect(await answer(record!.request_uuid)).toEqual(NOT_FOUND);
    });

    it.each([1_999_999_999, '99999999999999999999'])('for the app %s', async (id) => {
      const [record] = await tenant.write({});
      const response = await app.get(`/v1/apps/${id}/request-logs/${record!.request_uuid}`, tenant.key);
      expect([response.status, response.text]).toEqual([404, '{"detail":"App not found"}']);
    });

    it("for another team's app, as if it were unknown", async () => {
      const stranger = await Tenant.create(app);
      const [record] = await stranger.write({});
      const response = await app.get(
        `/v1/apps/${stranger.appId}/request-logs/${record!.request_uuid}`,
        tenant.key,
      );
      expect([response.status, response.text]).toEqual([404, '{"detail":"App not found"}']);
    });
  });

  describe('422', () => {
    it.each(['x', '00000000-0000-0000-0000-00000000000', "'; DROP TABLE request_logs_v1"])(
      'for %j, which is no UUID',
      async (uuid) => {
        const { status, body } = await details(encodeURIComponent(uuid));
        expect([status, body.detail[0].type, body.detail[0].loc]).toEqual([
          422,
          'uuid_parsing',
          ['path', 'request_uuid'],
        ]);
      },
    );
  });
});
