import { parseNdjsonLine } from './ndjson.parser.js';
import type { ParsedRequest } from './parsed-request.js';

const LEAST = {
  timestamp: '2025-05-14T10:00:00.123Z',
  method: 'GET',
  url: 'https://api.example.com/users/7?x=1',
  status_code: 200,
};

function parseRecord(line: string, shiftMs?: number): ParsedRequest {
  const result = parseNdjsonLine(line, { shiftMs });
  if (!('record' in result)) throw new Error(result.reason);
  return result.record;
}
const parsed = (members: object, shiftMs?: number) =>
  parseRecord(JSON.stringify({ ...LEAST, ...members }), shiftMs);

describe('what was captured', () => {
  const parseCapture = (members: object, shiftMs?: number) =>
    JSON.parse(parsed(members, shiftMs).captured_json);

  it.each([
    ['2025-05-14T10:00:00Z', '2025-05-14T10:00:00.000000Z'],
    ['2025-05-14T10:00:00.1Z', '2025-05-14T10:00:00.100000Z'],
    ['2025-05-14T10:00:00.1234Z', '2025-05-14T10:00:00.123400Z'],
    ['2025-05-14T12:00:00.123456789+02:00', '2025-05-14T10:00:00.123456Z'],
  ])('has log times in microseconds: %s', (timestamp, expected) => {
    const { logs } = parseCapture({ logs: [{ timestamp, message: 'a', level: 'warn' }] });
    const absent = { logger: null, file: null, line: null };
    expect(logs).toEqual([{ timestamp: expected, message: 'a', level: 'warn', ...absent }]);
  });

  it('has texts and attributes within the limits of every sender', () => {
    const text = 'x'.repeat(100_000);
    const attributes = Object.fromEntries([
      ['text', text],
      ['list', Array.from({ length: 20_000 }, () => 'y')],
      ['digits', [1.5, 'z']],
      [`long${text}`, 1],
      ...Array.from({ length: 1_100 }, (_, n) => [`n${n}`, n]),
    ]) as Record<string, unknown>;
    const source = {
      exception: { type: text, message: text, stacktrace: text, tracker_event_id: text },
      logs: [{ timestamp: LEAST.timestamp, message: `😀${text}`, level: text, logger: text, file: text }],
      spans: [span({ name: text, span_id: text, parent_span_id: text, attributes })],
    };
    const { exception, logs, spans } = parseCapture(source);
    const cut = (length: number) => text.slice(0, length);
    expect(exception).toMatchObject({ type: cut(256), message: cut(2_048), stacktrace: cut(65_536) });
    expect(exception.tracker_event_id).toBe(cut(64));
    const [log] = logs;
    expect(log).toMatchObject({
      message: `😀${cut(2_047)}`,
      level: cut(256),
      logger: cut(256),
      file: cut(256),
    });
    expect(spans[0]).toMatchObject({ name: cut(1_024), span_id: cut(64), parent_span_id: cut(64) });
    expect(Object.keys(spans[0].attributes)).toHaveLength(1_024);
    expect(spans[0].attributes).toMatchObject({
      text: cut(65_536),
      list: '<value too large>',
      digits: [1.5, 'z'],
      [`long${cut(1_020)}`]: 1,
    });
    const result = parseNdjsonLine(JSON.stringify({ ...LEAST, ...source }));
    expect('ignored' in result && result.ignored.filter((name) => name === 'spans.attributes')).toHaveLength(
      80,
    );
  });

  it('has the IDs of a span in lower case, and no parent for a root', () => {
    const { spans } = parseCapture({
      spans: [
        span({ span_id: 'A1B2C3D4E5F60718', parent_span_id: '' }),
        span({ parent_span_id: 'A1B2C3D4E5F60718' }),
        span({ parent_span_id: '0'.repeat(16) }),
      ],
    });
    expect(spans).toMatchObject([
      { span_id: 'a1b2c3d4e5f60718', parent_span_id: null },
      { span_id: 'a', parent_span_id: 'a1b2c3d4e5f60718' },
      { parent_span_id: null },
    ]);
  });

  it('has the kind and status of a span as the contract spells them, else INTERNAL and UNSET', () => {
    const { spans } = parseCapture({
      spans: [span({ kind: 'client', status: 'Ok' }), span({ kind: 'x', status: 'x' })],
    });
    expect(spans).toMatchObject([
      { kind: 'CLIENT', status: 'OK' },
      { kind: 'INTERNAL', status: 'UNSET' },
    ]);
  });

  it.each([
    ['its times', '"start_time_ns":1735689600050000001,"end_time_ns":1735689600050000004', '3'],
    ['its times as text', '"start_time_ns":"1735689600050000001","end_time_ns":"1735689600050000004"', '3'],
    [
      'what it says',
      '"start_time_ns":1,"end_time_ns":2,"duration_ns":1735689600050000001',
      '1735689600050000001',
    ],
    ['nothing where it ends before it starts', '"start_time_ns":2,"end_time_ns":1', '0'],
  ])('has the exact duration of a span from %s', (_, times, expected) => {
    const line = JSON.stringify({ ...LEAST, spans: [{ span_id: 'a', name: 'b' }] });
    const { captured_json: capture } = parseRecord(line.replace('"name":"b"', `"name":"b",${times}`));
    expect(capture).toContain(`"duration_ns":${expected},`);
  });

  it.each(['-1', '1.5', '9223372036854775808', '"1.5"', '1e400'])(
    'leaves out a span of %s nanoseconds',
    (text) => {
      const line = JSON.stringify({ ...LEAST, spans: [span({})] }).replace(
        '"end_time_ns":2',
        `"end_time_ns":${text}`,
      );
      expect(parseNdjsonLine(line)).toMatchObject({ record: { captured_json: '' }, ignored: ['spans'] });
    },
  );

  it('has no trace ID where it is all zeros', () => {
    expect(parsed({ trace_id: '0'.repeat(32) }).captured_json).toBe('');
  });

  it('has the exception with every member', () => {
    const { exception } = parseCapture({ exception: { type: 'TypeError' } });
    const noEvent = { tracker_event_id: null, sentry_event_id: null };
    expect(exception).toEqual({ type: 'TypeError', message: '', stacktrace: '', ...noEvent });
  });

  it.each(['tracker_event_id', 'sentry_event_id'])(
    'has the ID of the tracked event by both names from %s',
    (name) => {
      const { exception } = parseCapture({ exception: { type: 'TypeError', [name]: 'c0ffee' } });
      expect(exception).toMatchObject({ tracker_event_id: 'c0ffee', sentry_event_id: 'c0ffee' });
    },
  );

  it('moves in time with the request', () => {
    const timestamp = '2025-05-14T10:00:00.000001Z';
    const logs = [{ timestamp, message: 'a', level: 'info' }];
    const members = { timestamp, logs, spans: [span({})] };
    expect(parsed(members, 1_000).timestamp).toBe(Date.UTC(2025, 4, 14, 10, 0, 1));
    const capture = parseCapture(members, 1_000);
    expect(capture.logs[0].timestamp).toBe('2025-05-14T10:00:01.000001Z');
    expect(capture.spans[0]).toMatchObject({
      start_time_ns: 1_000_000_001,
      end_time_ns: 1_000_000_002,
      duration_ns: 1,
    });
  });
});

function span(members: object) {
  return { span_id: 'a', name: 'b', start_time_ns: 1, end_time_ns: 2, ...members };
}
