import fc from 'fast-check';
import { toBodyJson } from '../../../records/capture.js';
import { parseNdjsonLine } from './ndjson.parser.js';
import type { ParsedRequest } from './parsed-request.js';
import { MAX_PATH } from '../../../records/operation.js';
import { inferPathPattern } from '../../decoding/path-pattern.js';
import { sanitize, truncate } from '../../../records/text.js';

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
describe('a line as the API gives it', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 10 }).map((value) => value.replaceAll('\0', ''));
  const textOrNull = fc.option(text);
  const headers = fc.array(fc.tuple(text, text), { maxLength: 3 });
  const nanoseconds = fc.bigInt(0n, 2n ** 63n - 1n);
  const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`));
  const instant = fc.date({ min: new Date(0), max: new Date('2099-12-31'), noInvalidDate: true });
  const log = fc.record({
    timestamp: fc
      .tuple(instant, fc.nat(999))
      .map(([date, micros]) => date.toISOString().replace('Z', `${String(micros).padStart(3, '0')}Z`)),
    message: text,
    level: text,
    logger: textOrNull,
    file: textOrNull,
    line: fc.option(fc.nat()),
  });
  const spanText = fc
    .record({
      span_id: hex(16),
      parent_span_id: fc.option(hex(16)),
      name: text,
      kind: fc.constantFrom('INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'),
      start: nanoseconds,
      end: nanoseconds,
      duration: nanoseconds,
      status: fc.constantFrom('UNSET', 'OK', 'ERROR'),
      attributes: fc.dictionary(text, fc.jsonValue({ maxDepth: 3 })),
      number: fc.constantFrom('1.0', '1e3', '-0', '12345678901234567890', '0.1', '1.7976931348623157e309'),
    })
    .map(({ start, end, duration, attributes, number, status, ...head }) => {
      const times = `"start_time_ns":${start},"end_time_ns":${end},"duration_ns":${duration}`;
      const free = JSON.stringify({ ...attributes, number: 0 }).replace(/0}$/, `${number}}`);
      const state = `"status":${JSON.stringify(status)},"attributes":${free}`;
      return `${JSON.stringify(head).slice(0, -1)},${times},${state}}`;
    });
  const body = fc.oneof(textOrNull, fc.json()).map(toBodyJson);
  const capture = fc.record({
    request_headers: headers,
    response_headers: headers,
    request_body_json: body,
    response_body_json: body,
    trace_id: fc.option(hex(32).filter((id) => /[^0]/.test(id))),
    exception: fc.option(
      fc
        .record({ type: text, message: text, stacktrace: text, tracker_event_id: textOrNull })
        .map((exception) => ({ ...exception, sentry_event_id: exception.tracker_event_id })),
    ),
    logs: fc.array(log, { maxLength: 3 }),
    spans: fc.array(spanText, { maxLength: 3 }),
  });
  const captureJson = capture.map(
    ({ spans, ...rest }) => `${JSON.stringify(rest).slice(0, -1)},"spans":[${spans.join(',')}]}`,
  );
  // Patterns as they may stand in the store: made of URLs, or of routes of any framework.
  const piece = fc.oneof(
    fc.constantFrom(
      '/',
      '/{id}',
      '/:id',
      '/[id]',
      '/<int:id>',
      '/{id:int}',
      '/{:a:b*{[0-9]+}\\:a',
      '%',
      '//',
      '?*',
    ),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
  );
  const maliciousPath = fc
    .array(piece, { minLength: 1, maxLength: 300 })
    .map((pieces) => truncate(sanitize(pieces.join('')), MAX_PATH));
  const log_record = fc.record({
    timestamp: instant.map((date) => date.toISOString()),
    request_uuid: fc.uuid(),
    env: fc.stringMatching(/^[\w-]{1,32}$/),
    consumer: fc.option(fc.stringMatching(/^[\w@.]{1,20}$/)),
    method: fc.constantFrom('GET', 'POST', 'M-SEARCH', 'UPDATEREDIRECTREF', 'X2_Y'),
    path: fc.option(maliciousPath),
    url: fc.webUrl({ withQueryParameters: true }),
    status_code: fc.integer({ min: 100, max: 999 }),
    request_size_bytes: fc.option(fc.nat()),
    response_size_bytes: fc.option(fc.nat(2 ** 44)),
    response_time_ms: fc.nat(),
    client_ip: fc.option(fc.oneof(fc.ipV4(), fc.ipV6())),
    client_country_iso_code: fc.constant('DE'),
  });

  it('comes back with every field, and the capture letter by letter', () => {
    fc.assert(
      fc.property(log_record, captureJson, (fields, captured) => {
        const record = parseRecord(`${JSON.stringify(fields).slice(0, -1)},${captured.slice(1)}`);
        const {
          timestamp,
          consumer,
          excluded_from_logs,
          is_path_inferred,
          captured_json: text,
          ...rest
        } = record;
        const given = { ...rest, timestamp: new Date(timestamp).toISOString() };
        expect([typeof excluded_from_logs, is_path_inferred]).toEqual(['boolean', false]);
        expect({ ...given, consumer: consumer?.identifier ?? null }).toEqual(fields);
        expect(text === '' ? isEmpty(captured) : text).toEqual(text === '' ? true : captured);
      }),
      { numRuns: 300 },
    );
  });

  it('has the path that was made from its URL when it comes back', () => {
    fc.assert(
      fc.property(maliciousPath, (url) => {
        const { path } = parseRecord(JSON.stringify({ ...LEAST, url }));
        expect(path).toBe(inferPathPattern(url));
        expect(parseRecord(JSON.stringify({ ...LEAST, url, path })).path).toBe(path);
      }),
      { numRuns: 1_000 },
    );
  });

  it('has the consumer that was made of any text when it comes back', () => {
    const blank = fc.constantFrom(' ', '\t', '\u00a0', '\u2003', '\ufeff', 'a', 'é', '💥');
    const name = fc.string({
      unit: fc.oneof(blank, fc.constant('b'.repeat(30))),
      minLength: 1,
      maxLength: 200,
    });
    fc.assert(
      fc.property(name, name, name, (identifier, label, group) => {
        const { consumer } = parseRecord(
          JSON.stringify({ ...LEAST, consumer: { identifier, name: label, group } }),
        );
        expect(parseRecord(JSON.stringify({ ...LEAST, consumer })).consumer).toEqual(consumer);
      }),
      { numRuns: 1_000 },
    );
  });

  it('returns a record or a one-line reason for any line', () => {
    const names = fc.constantFrom(
      ...Object.keys(LEAST),
      ...'path env consumer request_uuid client_ip logs spans trace_id exception request_headers'.split(' '),
    );
    const value = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.bigInt().map(String));
    const line = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.dictionary(names, value).map((members) => JSON.stringify({ ...LEAST, ...members })),
    );
    fc.assert(
      fc.property(line, (text) => {
        const result = parseNdjsonLine(text);
        if ('reason' in result) expect(result.reason).toMatch(/^[^\n]{1,150}$/);
      }),
      { numRuns: 1_000 },
    );
  });
});

function isEmpty(capture: string): boolean {
  return Object.values(JSON.parse(capture)).every((value) =>
    Array.isArray(value) ? value.length === 0 : value === null,
  );
}
