import type { IncomingMessage } from 'node:http';
import { LosslessNumber, isLosslessNumber, parse } from 'lossless-json';
import { readBody } from '../http/request-body.js';
import {
  type ConstraintViolation,
  type JsonPath,
  type ValidationIssue,
  createIssue,
  invalidJson,
  missing,
  notAnObject,
} from './issues.js';

/** Above any legitimate query: a list of 1,000 values and 100 filters have 20 KB. */
const MAX_BYTES = 64 * 1024;
const MAX_DEPTH = 16;
const POSITION = / at position (\d+)$/;

export interface JsonBody {
  /**
   * By name. A number that JavaScript would write differently, such as `1.0` or a 64-bit integer, is a
   * `LosslessNumber`.
   */
  readonly members: ReadonlyMap<string, unknown>;
  /** The reason if there are no members, because the body is not a JSON object. */
  readonly issue?: ValidationIssue;
}

export const NO_BODY: JsonBody = { members: new Map() };

/**
 * Reads the body of a request as JSON, for any `Content-Type`.
 *
 * @throws ApiError 413 if it is too large, 408 if it arrives too slowly, 400 if the client disconnected
 */
export async function readJsonBody(request: IncomingMessage): Promise<JsonBody> {
  return parseJsonBody(await readBody(request, MAX_BYTES, () => undefined));
}

/** Parses the bytes of a body as JSON. */
export function parseJsonBody(bytes: Buffer): JsonBody {
  if (bytes.length === 0) return createInvalidBody([], null, missing);
  const text = decodeText(bytes);
  if (text === undefined) return notJson(0, 'Body is not UTF-8');
  const tooDeepAt = findTooDeep(text);
  if (tooDeepAt !== undefined) return notJson(tooDeepAt, `Nested more than ${MAX_DEPTH} deep`);
  try {
    const body = parse(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue });
    if (typeof body !== 'object' || body === null || Array.isArray(body) || isLosslessNumber(body))
      return createInvalidBody([], toPlainJson(body), notAnObject);
    return { members: new Map(Object.entries(body)) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const [behind, position = '0'] = POSITION.exec(error.message) ?? [''];
    return notJson(Number(position), error.message.slice(0, error.message.length - behind.length));
  }
}

/** A value of a body with the numbers of JavaScript, as a response shows it. */
export function toPlainJson(value: unknown): unknown {
  if (isLosslessNumber(value)) return Number(value.value);
  if (Array.isArray(value)) return value.map(toPlainJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toPlainJson(member)]));
}

function parseNumber(digits: string): number | LosslessNumber {
  const number = Number(digits);
  return String(number) === digits ? number : new LosslessNumber(digits);
}

function notJson(offset: number, reason: string): JsonBody {
  return createInvalidBody([offset], {}, invalidJson(reason));
}

function createInvalidBody(path: JsonPath, input: unknown, violation: ConstraintViolation): JsonBody {
  return { ...NO_BODY, issue: createIssue('body', path, input, violation) };
}

function decodeText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Offset of an array or object that is nested too deeply. The parser is recursive. */
function findTooDeep(text: string): number | undefined {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"?|[[\]{}]/gs)) {
    if (token === '[' || token === '{') depth++;
    else if (token === ']' || token === '}') depth--;
    if (depth > MAX_DEPTH) return index;
  }
  return undefined;
}
