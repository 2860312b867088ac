import { LineParser } from './request-format.js';

const LOG_LINE = '203.0.113.7 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 512';
const JSON_LINE = '{"timestamp":"2015-05-17T10:05:03Z","method":"GET","url":"/a","status_code":200}';
const NOT_JSON = 'line: must be valid JSON';
const NO_OBJECT = 'line: must be a JSON object';
const NO_LOG_LINE = 'line: must begin with host, identity, user, [time] and "request"';
const IN_ARRAY =
  'line: belongs to a JSON array; NDJSON has one object in each line, as jq -c ".[]" writes it';
const COMMENT = 'line: is a comment';
const TAKEN = '/a';

/** The URL of each line's request, or the reason for which it is none. */
function read(lines: readonly string[], format?: string) {
  const parser = new LineParser(format);
  return lines.map((line) => {
    const result = parser.parse(line);
    if (result === null) return null;
    return 'record' in result ? result.record.url : result.reason;
  });
}

describe('LineParser', () => {
  it.each([
    ['NDJSON', [JSON_LINE, LOG_LINE, JSON_LINE], [TAKEN, NO_OBJECT, TAKEN]],
    ['an access log', [LOG_LINE, JSON_LINE, LOG_LINE], [TAKEN, NO_LOG_LINE, TAKEN]],
    ['NDJSON behind a comment', ['# export of May', `  ${JSON_LINE}`, '{'], [COMMENT, TAKEN, NOT_JSON]],
    ['NDJSON behind an open bracket', ['[', JSON_LINE, JSON_LINE], [IN_ARRAY, TAKEN, TAKEN]],
    ['NDJSON behind a damaged line', [JSON_LINE.slice(9), JSON_LINE], [NO_LOG_LINE, TAKEN]],
    [
      'NDJSON behind other JSON',
      ['{"msg":"listening"}', JSON_LINE],
      [expect.stringContaining('not a request'), TAKEN],
    ],
    ['an access log behind a comment', ['// node 1', LOG_LINE], [COMMENT, TAKEN]],
    ['an access log behind a damaged line', ['[17/May/2015', LOG_LINE], [NO_LOG_LINE, TAKEN]],
    [
      'a JSON array',
      ['[', `${JSON_LINE},`, JSON_LINE.slice(0, -1), ']'],
      [IN_ARRAY, IN_ARRAY, IN_ARRAY, IN_ARRAY],
    ],
    ['indented JSON', ['{', '  "timestamp": "2015-05-17"', '}'], [NOT_JSON, NOT_JSON, NOT_JSON]],
    ['text', ['hello', '', 'root:x:0:0:root:/root:/bin/sh'], [NO_LOG_LINE, NO_LOG_LINE, NO_LOG_LINE]],
  ])('reads %s', (_, lines, expected) => {
    expect(read(lines)).toEqual(expected);
  });

  it.each([
    ['ndjson', [LOG_LINE, JSON_LINE], [NO_OBJECT, TAKEN]],
    ['combined', [JSON_LINE, LOG_LINE], [NO_LOG_LINE, TAKEN]],
    ['ndjson', ['[', '# a'], [IN_ARRAY, NO_OBJECT]],
  ] as const)('reads %s if that is given, with any first line', (format, lines, expected) => {
    expect(read(lines, format)).toEqual(expected);
  });

  it.each([JSON_LINE, LOG_LINE])('moves the time of %s', (line) => {
    const timestamp = Date.UTC(2015, 4, 17, 10, 5, 4);
    expect(new LineParser(undefined, { shiftMs: 1000 }).parse(line)).toMatchObject({ record: { timestamp } });
  });
});
