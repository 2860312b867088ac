import { guessFormat, parseLine } from './request-format.js';

const LOG_LINE = '203.0.113.7 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 512';
const JSON_LINE = '{"timestamp":"2015-05-17T10:05:03Z","method":"GET","url":"/a","status_code":200}';

describe('guessFormat', () => {
  it.each([
    ['ndjson', JSON_LINE],
    ['ndjson', '  {'],
    ['combined', LOG_LINE],
    ['combined', 'hello'],
    ['combined', ''],
    ['combined', '[1]'],
  ])('takes for %s: %p', (format, line) => {
    expect(guessFormat(line)).toBe(format);
  });
});

describe('parseLine', () => {
  it.each([
    ['ndjson', JSON_LINE, LOG_LINE],
    ['combined', LOG_LINE, JSON_LINE],
  ] as const)(
    'reads a line of %s, moved as told, and rejects one of the other format',
    (format, line, other) => {
      const timestamp = Date.UTC(2015, 4, 17, 10, 5, 4);
      expect(parseLine(format, line, 1000)).toMatchObject({ record: { timestamp, url: '/a' } });
      expect(parseLine(format, other)).toEqual({ reason: expect.any(String) });
    },
  );
});
