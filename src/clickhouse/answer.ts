import { parseError } from '@clickhouse/client';
import { StoreUnavailable } from './clickhouse.errors.js';

/** How a server may write an exception behind what it has sent: as one more row. Inside a text, quotes are escaped. */
const EXCEPTION_ROW = '{"exception":';
const BRACE = '{'.charCodeAt(0);
const END = Buffer.from('}\n');
/** Errors come last and are short; a row can be long. */
const TAIL = 16_384;

/**
 * The rows of an answer in JSONEachRow, if it is whole: every row ends with a brace and a line feed.
 *
 * A server that meets an error after it has sent rows has sent 200 as well. It writes the error behind the rows, in a
 * form that changed with its versions; something in between may cut an answer, or give one of its own.
 *
 * @throws what the engine said behind the rows, or StoreUnavailable when it said nothing.
 */
export function wholeRows(answer: Buffer): Buffer {
  if (answer.length === 0) return answer;
  const last = answer.subarray(answer.subarray(0, -1).lastIndexOf('\n') + 1);
  if (last[0] === BRACE && last.subarray(-2).equals(END) && !last.includes(EXCEPTION_ROW)) return answer;
  const error = parseError(answer.toString('utf8', Math.max(0, answer.length - TAIL)));
  throw 'code' in error ? error : new StoreUnavailable('the answer was cut short');
}

/** Whether a server gave the answer: an empty one of somebody in between would look like one without rows. */
export function isOfServer(headers: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(headers).some((name) => name.startsWith('x-clickhouse-'));
}
