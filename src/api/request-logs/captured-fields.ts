import type { Account } from '../../platform/http/account.js';
import { parseExact, stringifyExact } from '../../shared/json/exact-json.js';
import { notInScope } from '../../platform/http/api-error.js';

/** Fields of headers and bodies, which keys without bodies do not see (docs/contract.md#key-scopes). */
export const CAPTURED_FIELDS = [
  'request_headers',
  'request_body_json',
  'response_headers',
  'response_body_json',
] as const;

type CapturedField = (typeof CAPTURED_FIELDS)[number];

/**
 * Patterns of the names of a span's attributes and events that hold headers, RPC metadata or bodies, and of
 * the names among them that hold sizes; in lower case. RE2 reads both patterns as well.
 */
const CAPTURED_NAME =
  '^(?:(?:http|apitally)[.](?:request|response)(?:[._](?:headers?|body)(?:[._]|$)|$)|rpc[.](?:[^.]+[.])?(?:request|response)[.]metadata(?:[.]|$))';
const SIZE_NAME = '^(?:http|apitally)[.](?:request|response)[._]body[._]size$';

interface Captured {
  spans: { attributes: Record<string, unknown> }[];
}

/** The fields of headers and bodies among these fields, each once. */
export function findCapturedFields(fields: readonly string[]): CapturedField[] {
  return CAPTURED_FIELDS.filter((field) => fields.includes(field));
}

/**
 * Whether an attribute or an event of a span holds headers or bodies. Names differ in case between senders.
 */
export function isCapturedName(name: string): boolean {
  const lower = name.toLowerCase();
  return new RegExp(CAPTURED_NAME).test(lower) && !new RegExp(SIZE_NAME).test(lower);
}

/** The same test as a condition of the store on an expression. */
export function matchCapturedName(sql: string): string {
  return `(match(lower(${sql}), '${CAPTURED_NAME}') AND NOT match(lower(${sql}), '${SIZE_NAME}'))`;
}

/** @throws ApiError 403 */
export function forbidCapturedFields(): never {
  throw notInScope('headers and bodies');
}

/** Request Details; without headers and bodies if the account may not see them. */
export function hideBodies({ scopes: { hasBodies } }: Account, details: Buffer): Buffer {
  if (hasBodies) return details;
  const shown = parseExact(details.toString()) as Captured;
  const spans = shown.spans.map((span) => ({
    ...span,
    attributes: Object.fromEntries(Object.entries(span.attributes).filter(([key]) => !isCapturedName(key))),
  }));
  const empty = {
    request_headers: [],
    response_headers: [],
    request_body_json: null,
    response_body_json: null,
  };
  return Buffer.from(stringifyExact({ ...shown, ...empty, spans }));
}
