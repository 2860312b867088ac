import { QueryTimedOut, StoreUnavailable, toStoreError } from './clickhouse.errors.js';
import { renderParameters } from './query-parameters.js';
import { ResultFrame, unframedError } from './result-frame.js';

const ERROR = 'Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED) (version 26.7.2.1)';
const TIMEOUT = 'Code: 159. DB::Exception: Timeout exceeded. (TIMEOUT_EXCEEDED) (version 26.7.2.1)';
const SYNTAX = 'Code: 62. DB::Exception: Syntax error. (SYNTAX_ERROR) (version 26.7.2.1)';
const ROWS = `{"n":1,"text":"{\\"exception\\":\\"no\\"}"}\n{"n":2,"text":"${ERROR}"}\n`;

describe('ResultFrame', () => {
  const frame = new ResultFrame('text');
  const nonce = /format_custom_result_after_delimiter = '([^']+)'/.exec(frame.settings)?.[1] ?? '';
  const framed = (rows: string) => `${nonce}\n${rows}${nonce}`;
  const unwrap = (text: string) => frame.unwrap(Buffer.from(text))?.toString();

  it('has a nonce of its own for each query', () => {
    expect(nonce).toMatch(/^[0-9a-f-]{36}$/);
    expect(new ResultFrame('text').settings).not.toContain(nonce);
  });

  it('has no placeholder of a value in its template', () => {
    const { settings } = new ResultFrame('ndjson', ['at', 'n']);
    expect(renderParameters(settings)).toBe(settings);
  });

  it.each([
    ['no rows', ''],
    ['one row', '{"n":1}\n'],
    ['rows with texts like errors', ROWS],
  ])('returns %s as they are', (_, rows) => {
    expect(unwrap(framed(rows))).toBe(rows);
  });

  it.each([
    ['rows of another query before its own', `{"of":"another"}\n${framed('{"n":1}\n')}`],
    ['the framed result of another query', framed(ROWS).replaceAll(nonce, nonce.replace(/^./, 'z'))],
    ['a page of a proxy', '<html></html>\n'],
    ['a pong', 'Ok.\n'],
    ['nothing at all', ''],
  ])('does not return %s', (_, result) => {
    expect(unwrap(result)).toBeUndefined();
  });

  it('does not return a result that was cut anywhere', () => {
    const result = framed(ROWS);
    for (let end = 0; end < result.length; end++) expect(unwrap(result.slice(0, end))).toBeUndefined();
  });

  it.each([
    ['behind rows', `${nonce}\n${ROWS}${ERROR}\n`],
    ['in the middle of a row', `${nonce}\n${ROWS}{"n":3,"te${ERROR}\n`],
    ['instead of rows', `${ERROR}\n`],
    ['marked', `${nonce}\n${ROWS}__exception__\n${ERROR}\n`],
    [
      'marked and tagged',
      `${nonce}\n${ROWS}\r\n__exception__\r\nabcdef\r\n${ERROR}\n${ERROR.length + 1} abcdef`,
    ],
    ['behind a long row', `${nonce}\n{"text":"${'x'.repeat(100_000)}"}\n${ERROR}\n`],
    ['of a kind that says nothing of the store', `${nonce}\n${ROWS}${SYNTAX}\n`],
  ])('does not return a result with an error %s, and gives it as unavailable', (_, result) => {
    expect(unwrap(result)).toBeUndefined();
    expect(toStoreError(unframedError(Buffer.from(result)))).toBeInstanceOf(StoreUnavailable);
  });

  it('gives a timeout behind rows as one', () => {
    const error = unframedError(Buffer.from(`${nonce}\n{"n":1}\n${TIMEOUT}\n`));
    expect(toStoreError(error)).toBeInstanceOf(QueryTimedOut);
  });
});
