import fc from 'fast-check';
import { isOfServer, wholeRows } from './answer.js';
import { StoreUnavailable } from './clickhouse.errors.js';

const ERROR = 'Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED) (version 26.7.2.1)';
const ROWS = '{"n":1,"text":"{\\"exception\\":\\"no\\"}"}\n{"n":2,"text":"\\r\\n__exception__"}\n';

describe('wholeRows', () => {
  const whole = (text: string) => wholeRows(Buffer.from(text)).toString();

  it.each([
    ['no rows', ''],
    ['one row', '{"n":1}\n'],
    ['rows with texts like errors', ROWS],
  ])('takes %s as they are', (_, text) => {
    expect(whole(text)).toBe(text);
  });

  it.each([
    ['behind rows', `${ROWS}${ERROR}\n`],
    ['in the middle of a row', `${ROWS}{"n":3,"te${ERROR}\n`],
    ['instead of rows', `${ERROR}\n`],
    ['marked', `${ROWS}__exception__\n${ERROR}\n`],
    [
      'marked and tagged',
      `${ROWS}\r\n__exception__\r\nabcdef\r\n${ERROR}\n${ERROR.length + 1} abcdef\r\n__exception__\r\n`,
    ],
    ['as a row', `${ROWS}${JSON.stringify({ exception: ERROR })}\n`],
    ['as a row in the middle of a row', `${ROWS}{"n":3,${JSON.stringify({ exception: ERROR })}\n`],
    ['behind a row that is longer than the search', `{"text":"${'x'.repeat(100_000)}"}\n${ERROR}\n`],
  ])('throws the engine’s error that is told %s', (_, text) => {
    expect(() => whole(text)).toThrow(
      expect.objectContaining({ code: '241', type: 'MEMORY_LIMIT_EXCEEDED' }),
    );
  });

  it('refuses every cut but those between rows', () => {
    const rows = fc.array(fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer())), { minLength: 1 });
    fc.assert(
      fc.property(rows, fc.nat(), (objects, at) => {
        const text = objects.map((row) => `${JSON.stringify(row)}\n`).join('');
        const cut = text.slice(0, at % text.length);
        if (cut === '' || cut.endsWith('\n')) expect(whole(cut)).toBe(cut);
        else expect(() => whole(cut)).toThrow(StoreUnavailable);
      }),
    );
  });

  it.each(['<html></html>\n', 'Ok.\n', '\n', '[]\n', '{"n":1}'])('refuses %j of somebody else', (text) => {
    expect(() => whole(text)).toThrow(StoreUnavailable);
  });
});

describe('isOfServer', () => {
  it.each([
    [{ 'x-clickhouse-query-id': '1', date: '' }, true],
    [{ server: 'nginx' }, false],
    [{}, false],
  ])('of %j: %s', (headers, expected) => {
    expect(isOfServer(headers)).toBe(expected);
  });
});
