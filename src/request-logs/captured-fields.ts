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

/** Attributes of spans that hold headers or bodies; RE2 reads it as well. */
export const CAPTURED_ATTRIBUTES = '^(?:http|apitally)[.](?:request|response)[.](?:headers?(?:[.].*)?|body)$';

interface Captured {
  spans: { attributes: Record<string, unknown> }[];
}

/** The fields of headers and bodies among these fields, each once. */
export function findCapturedFields(fields: readonly string[]): string[] {
  return [...new Set(fields.filter((field) => CAPTURED_FIELDS.has(field)))];
}

/** @throws ApiError 403 */
export function refuseBodies(): never {
  throw notInScope('headers and bodies');
}

/** Request Details without headers and bodies, where the account does not see them. */
export function hideBodies({ scopes: { hasBodies } }: Account, details: Buffer): Buffer {
  if (hasBodies) return details;
  const shown = parseExact(details.toString()) as Captured;
  const hidden = new RegExp(CAPTURED_ATTRIBUTES);
  const spans = shown.spans.map((span) => ({
    ...span,
    attributes: Object.fromEntries(Object.entries(span.attributes).filter(([key]) => !hidden.test(key))),
  }));
  const empty = {
    request_headers: [],
    response_headers: [],
    request_body_json: null,
    response_body_json: null,
  };
  return Buffer.from(stringifyExact({ ...shown, ...empty, spans }));
}
