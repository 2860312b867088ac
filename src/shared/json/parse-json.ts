import { parse } from 'lossless-json';

/** Possibly a name with an escape: the last escape of a text, its rest, and a colon after it. */
const ESCAPED_NAME = /\\.[^"\\]*"\s*:/;
const MISREADS_NAMES = misreadsNames();

/**
 * `JSON.parse` with a workaround for a bug of V8 12.8 and later, which Node 24 has (nodejs/node#63785). After
 * equal members V8 expects the name that it saw there before, in any earlier text, and compares it with the
 * raw next name: after `{"a":0,"\\":0}` it reads the name of `{"a":0,"\n":0}` as a backslash. So the data of
 * one client could change the parsed names of another. Texts with escaped names are parsed by a parser that
 * is three times as slow.
 *
 * @throws SyntaxError if it is not JSON; RangeError if it is nested too deeply for that parser
 */
export function parseJson(text: string): unknown {
  if (!MISREADS_NAMES || !ESCAPED_NAME.test(text)) return JSON.parse(text);
  return parse(text, null, { parseNumber: Number, onDuplicateKey: ({ newValue }) => newValue });
}

/** Whether this engine has the bug. */
function misreadsNames(): boolean {
  // Referenced, because V8 drops its expectation with the last object of this shape.
  const seen: unknown = JSON.parse(String.raw`{"parse-json":0,"\\":0}`);
  const next = JSON.parse(String.raw`{"parse-json":0,"\n":0}`) as object;
  return seen !== null && Object.keys(next)[1] !== '\n';
}
