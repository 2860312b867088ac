import fc from 'fast-check';
import { parseExact } from '../shared/json/exact-json.js';
import {
  type Capture,
  EMPTY_CAPTURE,
  EMPTY_CAPTURE_JSON,
  formatMicroseconds,
  normalizeSpanKind,
  normalizeSpanStatus,
  normalizeTraceId,
  toCaptureJson,
} from './capture.js';

const FULL: Capture = {
  request_headers: [
    ['accept', '*/*'],
    ['accept', 'text/html'],
  ],
  response_headers: [['content-type', 'application/json']],
  request_body_json: '{"password":"******"}',
  response_body_json: '{"id":1.0}',
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  exception: { type: 'TypeError', message: 'bad "thing"', stacktrace: 'at x\n at y', tracker_event_id: null },
  logs: [
    {
      timestamp: '2025-05-14T10:00:00.123456Z',
      message: 'hello',
      level: 'info',
      logger: 'app',
      file: null,
      line: 7,
    },
  ],
  spans: [
    {
      span_id: '00f067aa0ba902b7',
      parent_span_id: null,
      name: 'SELECT users',
      kind: 'CLIENT',
      start_time_ns: 1735689600050000001n,
      end_time_ns: 1735689600050000003n,
      duration_ns: 2n,
      status: 'OK',
      attributes: parseExact('{"attributes":0,"rows":3,"ratio":1.0,"big":12345678901234567890}') as object,
    },
  ],
};

describe('toCaptureJson', () => {
  it('is empty when nothing was captured', () => {
    expect(toCaptureJson(EMPTY_CAPTURE)).toBe('');
  });

  it('has every member in the order of the specification, with each digit of every integer', () => {
    expect(toCaptureJson(FULL)).toBe(
      '{"request_headers":[["accept","*/*"],["accept","text/html"]]' +
        ',"response_headers":[["content-type","application/json"]]' +
        ',"request_body_json":"{\\"password\\":\\"******\\"}"' +
        ',"response_body_json":"{\\"id\\":1.0}"' +
        ',"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"' +
        ',"exception":{"type":"TypeError","message":"bad \\"thing\\"","stacktrace":"at x\\n at y","tracker_event_id":null,"sentry_event_id":null}' +
        ',"logs":[{"timestamp":"2025-05-14T10:00:00.123456Z","message":"hello","level":"info","logger":"app","file":null,"line":7}]' +
        ',"spans":[{"span_id":"00f067aa0ba902b7","parent_span_id":null,"name":"SELECT users","kind":"CLIENT"' +
        ',"start_time_ns":1735689600050000001,"end_time_ns":1735689600050000003,"duration_ns":2,"status":"OK"' +
        ',"attributes":{"attributes":0,"rows":3,"ratio":1.0,"big":12345678901234567890}}]}',
    );
  });

  it.each(Object.keys(FULL) as (keyof Capture)[])('is not empty when there is only %s', (member) => {
    const text = toCaptureJson({ ...EMPTY_CAPTURE, [member]: FULL[member] });
    expect(Object.keys(JSON.parse(text))).toEqual(Object.keys(FULL));
    const expected: unknown = JSON.parse(toCaptureJson(FULL))[member];
    expect(JSON.parse(text)).toEqual({ ...JSON.parse(EMPTY_CAPTURE_JSON), [member]: expected });
  });

  it('is JSON without NUL and lone surrogates, all other text as it was', () => {
    const body = fc.string({
      unit: fc.constantFrom('\\', 'u', '0', 'd', '8', '{', '"', '\n', '💥', '\0', '\uD800', '\uDC00'),
    });
    fc.assert(
      fc.property(body, body, (name, text) => {
        const attributes = { [name]: text };
        const span = { ...FULL.spans[0]!, attributes };
        const capture = JSON.parse(toCaptureJson({ ...FULL, request_body_json: text, spans: [span] }));
        const kept = (value: string) => value.toWellFormed().replaceAll('\0', '\uFFFD');
        const { request_body_json: body_json } = capture;
        expect([body_json, JSON.parse(body_json)]).toContain(kept(text));
        expect(capture.spans[0].attributes).toEqual({ [kept(name)]: kept(text) });
      }),
    );
  });
});

describe('EMPTY_CAPTURE', () => {
  it('is the whole shape of a request of which nothing was captured', () => {
    expect(EMPTY_CAPTURE_JSON).toBe(
      '{"request_headers":[],"response_headers":[],"request_body_json":null,"response_body_json":null' +
        ',"trace_id":null,"exception":null,"logs":[],"spans":[]}',
    );
  });
});

describe('normalizeSpanKind and normalizeSpanStatus', () => {
  it.each(['INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'])(
    'know the kind %s in any case',
    (kind) => {
      expect(normalizeSpanKind(kind)).toBe(kind);
      expect(normalizeSpanKind(kind.toLowerCase())).toBe(kind);
    },
  );

  it.each(['UNSET', 'OK', 'ERROR'])('know the status %s in any case', (status) => {
    expect(normalizeSpanStatus(status)).toBe(status);
    expect(normalizeSpanStatus(status.toLowerCase())).toBe(status);
  });

  it.each([null, '', 'UNSPECIFIED', 'constructor'])('make null of %p', (text) => {
    expect(normalizeSpanKind(text)).toBeNull();
    expect(normalizeSpanStatus(text)).toBeNull();
  });
});

describe('traceId', () => {
  it('takes that of all zeros for none', () => {
    expect(normalizeTraceId('0'.repeat(32))).toBeNull();
    expect(normalizeTraceId('4bf92f3577b34da6a3ce929d0e0e4736')).toBe('4bf92f3577b34da6a3ce929d0e0e4736');
  });
});

describe('formatMicroseconds', () => {
  it.each([
    [0, '1970-01-01T00:00:00.000000Z'],
    [1_747_216_800_123_456, '2025-05-14T10:00:00.123456Z'],
    [1_747_216_800_000_007, '2025-05-14T10:00:00.000007Z'],
    [-1, '1969-12-31T23:59:59.999999Z'],
  ])('writes %d as %s', (epochMicros, expected) => {
    expect(formatMicroseconds(epochMicros)).toBe(expected);
  });
});
