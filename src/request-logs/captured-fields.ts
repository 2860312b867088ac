import type { Account } from '../common/account.js';
import { parseExact, stringifyExact } from '../common/json/exact-json.js';
import { notInScope } from '../http/api-error.js';

/** Fields of headers and bodies, which keys without bodies do not see (docs/contract.md#key-scopes). */
const CAPTURED_FIELDS: ReadonlySet<string> = new Set([
  'request_headers',
  'response_headers',
  'request_body_json',
  'response_body_json',
]);

/** Attributes of spans that hold headers or bodies, and those of them that are sizes; in lower case. RE2 reads both as well. */
const CAPTURED_ATTRIBUTE = '^(?:http|apitally)[.](?:request|response)[.](?:headers?|body)(?:[.]|$)';
const SIZE_ATTRIBUTE = '^(?:http|apitally)[.](?:request|response)[.]body[.]size$';

interface Captured {
  spans: { attributes: Record<string, unknown> }[];
}

/** The fields of headers and bodies among these fields, each once. */
export function findCapturedFields(fields: readonly string[]): string[] {
  return [...new Set(fields.filter((field) => CAPTURED_FIELDS.has(field)))];
}

/** Whether an attribute of a span holds headers or bodies. Names differ in case between senders. */
export function isCapturedAttribute(name: string): boolean {
  const lower = name.toLowerCase();
  return new RegExp(CAPTURED_ATTRIBUTE).test(lower) && !new RegExp(SIZE_ATTRIBUTE).test(lower);
}

/** The same as a condition of the store on an expression. */
export function matchCapturedAttribute(sql: string): string {
  return `(match(lower(${sql}), '${CAPTURED_ATTRIBUTE}') AND NOT match(lower(${sql}), '${SIZE_ATTRIBUTE}'))`;
}

/** @throws ApiError 403 */
export function forbidCapturedFields(): never {
  throw notInScope('headers and bodies');
}

/** Request Details without headers and bodies, where the account does not see them. */
export function hideBodies({ scopes: { hasBodies } }: Account, details: Buffer): Buffer {
  if (hasBodies) return details;
  const shown = parseExact(details.toString()) as Captured;
  const spans = shown.spans.map((span) => ({
    ...span,
    attributes: Object.fromEntries(
      Object.entries(span.attributes).filter(([key]) => !isCapturedAttribute(key)),
    ),
  }));
  const empty = {
    request_headers: [],
    response_headers: [],
    request_body_json: null,
    response_body_json: null,
  };
  return Buffer.from(stringifyExact({ ...shown, ...empty, spans }));
}
