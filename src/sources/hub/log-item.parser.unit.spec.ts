import fc from 'fast-check';
import { parseNdjsonLine } from '../lines/formats/ndjson.parser.js';
import { parseLogItem } from './log-item.parser.js';

const NOW = Date.UTC(2026, 10, 20, 12);
const CONTEXT = { env: 'prod', now: NOW };
const UUID = '63d524d0-e69c-47aa-818c-ab3ada75b277';
const SECONDS = NOW / 1000 - 60;

interface Parts {
  request?: object;
  response?: object;
  item?: object;
}

function buildLine({ request = {}, response = {}, item = {} }: Parts = {}): string {
  return JSON.stringify({
    uuid: UUID,
    request: { timestamp: SECONDS, method: 'GET', url: 'http://a/b', ...request },
    response: { statusCode: 200, responseTime: 0.0125, ...response },
    ...item,
  });
}

function parseRecord(parts: Parts | string) {
  const parsed = parseLogItem(typeof parts === 'string' ? parts : buildLine(parts), CONTEXT);
  if ('reason' in parsed) throw new Error(parsed.reason);
  return parsed.record;
}

const parseCapture = (parts: Parts | string) => JSON.parse(parseRecord(parts).captured_json || '{}');
const base64 = (text: string) => Buffer.from(text).toString('base64');
const span = (members: object = {}) => ({
  spanId: 'a1',
  parentSpanId: null,
  name: 'GET /b',
  kind: 'SERVER',
  startTime: '1735689600050000001',
  endTime: '1735689600050000011',
  ...members,
});

describe('parseLogItem', () => {
  it('reads snake case as it reads camel case, and traceback as stacktrace', () => {
    const camel = buildLine({
      item: {
        traceId: 'a'.repeat(32),
        exception: { type: 'E', message: 'm', stacktrace: 's', sentryEventId: 'x' },
        spans: [span({ parentSpanId: 'b2' })],
      },
    });
    const snake = camel
      .replaceAll(/"([a-z]+)([A-Z])([a-z]+)([A-Z]?)([a-z]*)":/g, (_, ...parts: string[]) => {
        const name = parts.slice(0, 5).join('');
        return `"${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}":`;
      })
      .replace('"stacktrace"', '"traceback"');
    expect(snake).toContain('"sentry_event_id"');
    expect(snake).toContain('"parent_span_id"');
    expect(parseRecord(snake)).toEqual(parseRecord(camel));
    expect(parseCapture(camel).exception).toEqual({
      type: 'E',
      message: 'm',
      stacktrace: 's',
      tracker_event_id: 'x',
      sentry_event_id: 'x',
    });
  });

  it('reads the stack trace of the Java library', () => {
    const exception = { type: 'java.lang.IllegalStateException', message: 'm', stackTrace: 'at x' };
    expect(parseCapture(buildLine({ item: { exception } })).exception).toMatchObject({ stacktrace: 'at x' });
  });

  it('keeps times of spans to the nanosecond, text or integer', () => {
    const text = parseRecord({ item: { spans: [span()] } }).captured_json;
    const integer = parseRecord(
      buildLine({ item: { spans: [span()] } }).replaceAll(/"(17356896000500000\d\d)"/g, '$1'),
    ).captured_json;
    expect(text).toContain(
      '"start_time_ns":1735689600050000001,"end_time_ns":1735689600050000011,"duration_ns":10',
    );
    expect(integer).toBe(text);
  });

  it.each([
    ['A1B2C3D4E5F60718', 'a1b2c3d4e5f60718'],
    ['Mixed', 'Mixed'],
    ['', null],
    ['0000000000000000', null],
  ])('has the parent %j of a span as %j', (parentSpanId, expected) => {
    const { spans } = parseCapture({ item: { spans: [span({ spanId: 'A1B2C3D4E5F60719', parentSpanId })] } });
    expect(spans).toMatchObject([{ span_id: 'a1b2c3d4e5f60719', parent_span_id: expected }]);
  });

  it('keeps the types and digits of span attributes', () => {
    const line = buildLine({
      item: { spans: [span({ attributes: { a: 1.5, b: true, c: ['x', 2], d: 'DIGITS' } })] },
    });
    const { captured_json: capture } = parseRecord(line.replace('"DIGITS"', '9007199254740993'));
    expect(capture).toContain('"attributes":{"a":1.5,"b":true,"c":["x",2],"d":9007199254740993}');
  });

  it.each([
    [SECONDS + 0.321, 321],
    [SECONDS + 0.3219, 321],
    [SECONDS, 0],
  ])('reads %d seconds to the millisecond', (timestamp, ms) => {
    expect(parseRecord({ request: { timestamp } }).timestamp % 1000).toBe(ms);
  });

  it('reads every millisecond as itself', () => {
    fc.assert(
      fc.property(fc.integer({ min: NOW - 86_400_000, max: NOW }), (ms) => {
        expect(parseRecord({ request: { timestamp: ms / 1000 } }).timestamp).toBe(ms);
      }),
    );
  });

  it.each([
    ['{"a":1}', '{"a":1}'],
    ['no JSON', '"no JSON"'],
    ['', null],
  ])('reads the body %p as JSON', (body, expected) => {
    const given = { request: { body: base64(body) }, item: { traceId: 'a'.repeat(32) } };
    expect(parseCapture(given).request_body_json).toBe(expected);
  });

  it('replaces what is not UTF-8 in a body, and leaves out a body over the limit', () => {
    const body = Buffer.from([0x61, 0xff, 0x62]).toString('base64');
    expect(parseCapture({ request: { body } }).request_body_json).toBe('"a\uFFFDb"');
    const long = base64('x'.repeat(100_001));
    expect(parseCapture({ response: { body: long } }).response_body_json).toBe('"<body too large>"');
  });

  it('cuts texts where the libraries do', () => {
    const exception = { type: 'E', message: 'm'.repeat(3_000), stacktrace: 's'.repeat(70_000) };
    const log = { timestamp: SECONDS, level: 'info', message: 'l'.repeat(3_000) };
    const captured = parseCapture({ item: { exception, logs: Array.from({ length: 1_100 }, () => log) } });
    expect(captured.exception.message).toHaveLength(2_048);
    expect(captured.exception.stacktrace).toHaveLength(65_536);
    expect(captured.logs).toHaveLength(1_000);
    expect(captured.logs[0].message).toHaveLength(2_048);
    const consumer = 'c'.repeat(200);
    expect(parseRecord({ request: { consumer } }).consumer?.identifier).toHaveLength(128);
  });

  it('takes 32 zeros for no trace, and a request without a path for one that met no route', () => {
    expect(parseRecord({ item: { traceId: '0'.repeat(32) } })).toMatchObject({
      captured_json: '',
      path: null,
    });
  });

  it.each([
    [true, { request: { path: '/healthz' } }],
    [true, { request: { headers: [['User-Agent', 'kube-probe/1.31']] } }],
    [false, { request: { path: '/users/:id' } }],
  ])('excludes it from the logs: %p for %j', (excluded_from_logs, parts) => {
    expect(parseRecord(parts).excluded_from_logs).toBe(excluded_from_logs);
  });

  it.each([
    [{ item: { uuid: 'x' } }, 'uuid: must be a UUID'],
    [{ item: { request: undefined } }, 'request: must be an object'],
    [{ request: { timestamp: '2026' } }, 'request.timestamp: must be a number from 0 to 4102444800'],
    [{ request: { timestamp: SECONDS - 16 * 86_400 } }, 'timestamp: older than the 15 days'],
    [{ request: { timestamp: SECONDS + 2 * 86_400 } }, 'timestamp: more than a day in the future'],
    [{ request: { url: '' } }, 'request.url: must have 1 to 65536 characters'],
    [{ response: { statusCode: 0 } }, 'response.status_code: must be an integer from 100 to 999'],
    [{ item: { response: {} } }, 'response.status_code: must be an integer from 100 to 999'],
    [{ request: { method: 'GE T' } }, 'request.method: must be a letter'],
  ])('rejects %j', (parts, reason) => {
    const parsed = parseLogItem(buildLine(parts), CONTEXT);
    expect(parsed).toEqual({ isJson: true, reason: expect.stringContaining(reason) });
  });

  describe('of a member that it cannot read', () => {
    const log = { timestamp: SECONDS, message: 'm', level: 'info', logger: 'l', file: 'f', line: 1 };
    const GIVEN: Parts = {
      request: {
        path: '/b',
        consumer: 'bob',
        size: 2 ** 44,
        headers: [['accept', '*/*']],
        body: base64('a'),
      },
      response: { size: 0, headers: [], body: base64('b') },
      item: {
        traceId: 'a'.repeat(32),
        exception: { type: 'E', message: 'm', stacktrace: 's', sentryEventId: 'x' },
        logs: [log],
        spans: [span({ status: 'OK', attributes: { a: 1 } })],
      },
    };
    /** What the parser makes of the item where the members are others. */
    const parseWith = ({ request, response, item }: Parts) =>
      parseLogItem(
        buildLine({
          request: { ...GIVEN.request, ...request },
          response: { ...GIVEN.response, ...response },
          item: { ...GIVEN.item, ...item },
        }),
        CONTEXT,
      );
    const noBytes = 2 ** 53 + 2;

    it.each<[name: string, odd: Parts, absent: Parts]>([
      ['request.consumer', { request: { consumer: '' } }, { request: { consumer: null } }],
      ['request.consumer', { request: { consumer: [] } }, { request: { consumer: null } }],
      ['request.consumer.name', { request: { consumer: { identifier: 'bob', name: 7 } } }, {}],
      ['request.path', { request: { path: 7 } }, { request: { path: null } }],
      ['request.size', { request: { size: -1 } }, { request: { size: null } }],
      ['request.size', { request: { size: 2 ** 44 + 1 } }, { request: { size: NaN } }],
      ['response.size', { response: { size: noBytes } }, { response: { size: null } }],
      ['response.size', { response: { size: '12' } }, { response: { size: null } }],
      ['response.response_time', { response: { responseTime: -1 } }, { response: { responseTime: null } }],
      ['response.response_time', { response: { responseTime: 1e300 } }, { response: { responseTime: NaN } }],
      ['request.headers', { request: { headers: { accept: '*/*' } } }, { request: { headers: [] } }],
      ['request.headers', { request: { headers: [['accept', '*/*'], ['a']] } }, {}],
      ['response.headers', { response: { headers: [['a', null]] } }, {}],
      ['request.body', { request: { body: '{}' } }, { request: { body: null } }],
      ['response.body', { response: { body: { a: 1 } } }, { response: { body: null } }],
      ['trace_id', { item: { traceId: 'x' } }, { item: { traceId: null } }],
      ['exception', { item: { exception: { message: 'm' } } }, { item: { exception: null } }],
      ['exception', { item: { exception: 'E' } }, { item: { exception: null } }],
      [
        'exception.stacktrace',
        { item: { exception: { type: 'E', stacktrace: ['s'] } } },
        { item: { exception: { type: 'E' } } },
      ],
      ['logs', { item: { logs: 'm' } }, { item: { logs: [] } }],
      ['logs', { item: { logs: [log, { ...log, timestamp: '2026' }] } }, {}],
      ['logs.line', { item: { logs: [{ ...log, line: -1 }] } }, { item: { logs: [{ ...log, line: null }] } }],
      ['spans', { item: { spans: {} } }, { item: { spans: [] } }],
      ['spans', { item: { spans: [span({ startTime: '1.5' })] } }, { item: { spans: [] } }],
      ['spans.attributes', { item: { spans: [span({ attributes: [1] })] } }, { item: { spans: [span()] } }],
    ])('leaves out %s alone, and names it: %j', (name, odd, absent) => {
      const without = parseWith(absent);
      expect(without).toMatchObject({ ignored: [] });
      expect(parseWith(odd)).toEqual({ ...without, ignored: [name] });
    });

    it('takes a trace ID in upper case', () => {
      expect(parseWith({ item: { traceId: 'A'.repeat(32) } })).toEqual(parseWith({}));
    });
  });

  it('reads what the Java library sends', () => {
    const line = JSON.stringify({
      uuid: UUID,
      request: {
        timestamp: SECONDS,
        method: 'POST',
        path: '/orders/{id}',
        url: 'http://localhost:8080/orders/7',
        headers: [['content-type', 'application/json']],
        size: 12,
        consumer: 'bob',
        body: base64('{"a":1}'),
      },
      response: { status_code: 500, response_time: 0.021, headers: [], size: 5, body: null },
      exception: {
        type: 'java.lang.IllegalStateException',
        message: 'no stock',
        stackTrace:
          'java.lang.IllegalStateException: no stock\n\tat com.example.Orders.place(Orders.java:42)\n',
        sentryEventId: null,
      },
      logs: [{ timestamp: SECONDS, logger: 'com.example.Orders', level: 'ERROR', message: 'no stock' }],
    });
    const parsed = parseLogItem(line, CONTEXT);
    expect(parsed).toMatchObject({ ignored: [], record: { status_code: 500, response_time_ms: 21 } });
    expect(parseCapture(line)).toMatchObject({
      exception: {
        type: 'java.lang.IllegalStateException',
        message: 'no stock',
        stacktrace:
          'java.lang.IllegalStateException: no stock\n\tat com.example.Orders.place(Orders.java:42)\n',
        tracker_event_id: null,
      },
      logs: [{ logger: 'com.example.Orders', level: 'ERROR', file: null, line: null }],
    });
  });

  it.each(['stack_trace', 'stackTrace', 'stacktrace', 'traceback'])('reads %s of an exception', (name) => {
    expect(parseCapture({ item: { exception: { type: 'E', [name]: 's' } } }).exception.stacktrace).toBe('s');
  });

  it('reads every value as an import reads it', () => {
    const odd = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom('', ' bob ', 'x'.repeat(200), 'A'.repeat(32), '0'.repeat(32), '1735689600050000001'),
      fc.constantFrom(-1, 0, 1.5, 2 ** 44, 2 ** 44 + 1, 2 ** 53 + 2, 1e300),
      fc.constantFrom([['a', 1]], [['a']], { identifier: 7, name: 'n' }, { type: 'E', message: 7 }),
    );
    const members = fc.record({
      consumer: odd,
      size: odd,
      responseSize: odd,
      headers: odd,
      responseHeaders: odd,
      traceId: odd,
      exception: odd,
      start: odd,
      line: odd,
      attributes: odd,
    });
    fc.assert(
      fc.property(members, (given) => {
        const { consumer, size, responseSize, headers, responseHeaders, traceId, exception } = given;
        const { start, line, attributes } = given;
        const common = { message: 'm', level: 'info', line };
        const shared = { span_id: 'a', name: 'b', attributes };
        const logged = parseLogItem(
          buildLine({
            request: { consumer, size, headers },
            response: { size: responseSize, headers: responseHeaders, responseTime: 0 },
            item: {
              trace_id: traceId,
              exception,
              logs: [{ ...common, timestamp: SECONDS }],
              spans: [{ ...shared, start_time: start, end_time: start }],
            },
          }),
          CONTEXT,
        );
        const imported = parseNdjsonLine(
          JSON.stringify({
            request_uuid: UUID,
            timestamp: new Date(SECONDS * 1000).toISOString(),
            method: 'GET',
            url: 'http://a/b',
            path: null,
            status_code: 200,
            env: CONTEXT.env,
            consumer,
            request_size_bytes: size,
            response_size_bytes: responseSize,
            response_time_ms: 0,
            request_headers: headers,
            response_headers: responseHeaders,
            trace_id: traceId,
            exception,
            logs: [{ ...common, timestamp: new Date(SECONDS * 1000).toISOString() }],
            spans: [{ ...shared, start_time_ns: start, end_time_ns: start }],
          }),
        );
        if (!('record' in logged) || !('record' in imported)) throw new Error('a request was rejected');
        expect(logged.record).toEqual(imported.record);
        expect(logged.ignored).toHaveLength(imported.ignored.length);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['opening brackets', '['.repeat(50_001)],
    ['numbers of spans', `{"spans":[${'0.1,'.repeat(50_001)}0]}`],
  ])('rejects a line without parsing it when it has too many %s', (_, line) => {
    const reason = 'item: must have at most 50000 values';
    expect(parseLogItem(line, CONTEXT)).toEqual({ reason, isJson: true });
  });

  it('never throws for any line', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.json().map((json) => buildLine({ item: { logs: json } })),
        ),
        (line) => {
          expect(parseLogItem(line, CONTEXT)).toBeDefined();
        },
      ),
    );
  });
});
