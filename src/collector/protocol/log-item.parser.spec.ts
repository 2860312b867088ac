import fc from 'fast-check';
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

function lineOf({ request = {}, response = {}, item = {} }: Parts = {}): string {
  return JSON.stringify({
    uuid: UUID,
    request: { timestamp: SECONDS, method: 'GET', url: 'http://a/b', ...request },
    response: { statusCode: 200, responseTime: 0.0125, ...response },
    ...item,
  });
}

function recordOf(parts: Parts | string) {
  const parsed = parseLogItem(typeof parts === 'string' ? parts : lineOf(parts), CONTEXT);
  if ('reason' in parsed) throw new Error(parsed.reason);
  return parsed.record;
}

const captureOf = (parts: Parts | string) => JSON.parse(recordOf(parts).capture || '{}');
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
    const camel = lineOf({
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
    expect(recordOf(snake)).toEqual(recordOf(camel));
    expect(captureOf(camel).exception).toEqual({
      type: 'E',
      message: 'm',
      stacktrace: 's',
      tracker_event_id: 'x',
    });
  });

  it('reads the stack trace of the Java library', () => {
    const exception = { type: 'java.lang.IllegalStateException', message: 'm', stackTrace: 'at x' };
    expect(captureOf(lineOf({ item: { exception } })).exception).toMatchObject({ stacktrace: 'at x' });
  });

  it('keeps times of spans to the nanosecond, text or integer', () => {
    const text = recordOf({ item: { spans: [span()] } }).capture;
    const integer = recordOf(
      lineOf({ item: { spans: [span()] } }).replaceAll(/"(17356896000500000\d\d)"/g, '$1'),
    ).capture;
    expect(text).toContain(
      '"start_time_ns":1735689600050000001,"end_time_ns":1735689600050000011,"duration_ns":10',
    );
    expect(integer).toBe(text);
  });

  it('keeps the types and digits of span attributes', () => {
    const line = lineOf({
      item: { spans: [span({ attributes: { a: 1.5, b: true, c: ['x', 2], d: 'DIGITS' } })] },
    });
    const { capture } = recordOf(line.replace('"DIGITS"', '9007199254740993'));
    expect(capture).toContain('"attributes":{"a":1.5,"b":true,"c":["x",2],"d":9007199254740993}');
  });

  it.each([
    [SECONDS + 0.321, 321],
    [SECONDS + 0.3219, 321],
    [SECONDS, 0],
  ])('reads %d seconds to the millisecond', (timestamp, ms) => {
    expect(recordOf({ request: { timestamp } }).timestamp % 1000).toBe(ms);
  });

  it('reads every millisecond as itself', () => {
    fc.assert(
      fc.property(fc.integer({ min: NOW - 86_400_000, max: NOW }), (ms) => {
        expect(recordOf({ request: { timestamp: ms / 1000 } }).timestamp).toBe(ms);
      }),
    );
  });

  it.each([
    ['{"a":1}', '{"a":1}'],
    ['no JSON', 'no JSON'],
    ['', null],
  ])('reads the body %p as text', (body, expected) => {
    const given = { request: { body: base64(body) }, item: { traceId: 'a'.repeat(32) } };
    expect(captureOf(given).request_body_json).toBe(expected);
  });

  it('replaces what is not UTF-8 in a body, and leaves out a body over the limit', () => {
    const body = Buffer.from([0x61, 0xff, 0x62]).toString('base64');
    expect(captureOf({ request: { body } }).request_body_json).toBe('a\uFFFDb');
    const long = base64('x'.repeat(100_001));
    expect(captureOf({ response: { body: long } }).response_body_json).toBe('<body too large>');
  });

  it('cuts texts where the libraries do', () => {
    const exception = { type: 'E', message: 'm'.repeat(3_000), stacktrace: 's'.repeat(70_000) };
    const log = { timestamp: SECONDS, level: 'info', message: 'l'.repeat(3_000) };
    const captured = captureOf({ item: { exception, logs: Array.from({ length: 1_100 }, () => log) } });
    expect(captured.exception.message).toHaveLength(2_048);
    expect(captured.exception.stacktrace).toHaveLength(65_536);
    expect(captured.logs).toHaveLength(1_000);
    expect(captured.logs[0].message).toHaveLength(2_048);
    const consumer = 'c'.repeat(200);
    expect(recordOf({ request: { consumer } }).consumer?.identifier).toHaveLength(128);
  });

  it('takes 32 zeros for no trace, and a request without a path for one that met no route', () => {
    expect(recordOf({ item: { traceId: '0'.repeat(32) } })).toMatchObject({ capture: '', path: null });
  });

  it.each([
    [true, { request: { path: '/healthz' } }],
    [true, { request: { headers: [['User-Agent', 'kube-probe/1.31']] } }],
    [false, { request: { path: '/users/:id' } }],
  ])('says that it is noise: %p for %j', (is_noise, parts) => {
    expect(recordOf(parts).is_noise).toBe(is_noise);
  });

  it.each([
    [{ item: { uuid: 'x' } }, 'uuid: must be a UUID'],
    [{ item: { request: undefined } }, 'request: must be an object'],
    [{ request: { timestamp: '2026' } }, 'request.timestamp: must be a number from 0 to 4102444800'],
    [{ request: { timestamp: SECONDS - 16 * 86_400 } }, 'timestamp: older than the 15 days'],
    [{ request: { timestamp: SECONDS + 2 * 86_400 } }, 'timestamp: more than a day in the future'],
    [{ request: { url: '' } }, 'request.url: must have 1 to 65536 characters'],
    [{ request: { body: '{}' } }, 'request.body: must be base64'],
    [{ response: { statusCode: 0 } }, 'response.status_code: must be an integer from 100 to 999'],
    [{ item: { spans: [span({ startTime: '1.5' })] } }, 'spans[0].start_time: must be an integer'],
  ])('refuses %j', (parts, reason) => {
    const parsed = parseLogItem(lineOf(parts), CONTEXT);
    expect(parsed).toEqual({ isJson: true, reason: expect.stringContaining(reason) });
  });

  it('never throws, whatever the line', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.json().map((json) => lineOf({ item: { logs: json } })),
        ),
        (line) => {
          expect(parseLogItem(line, CONTEXT)).toBeDefined();
        },
      ),
    );
  });
});
