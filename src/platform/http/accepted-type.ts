import type { Request } from 'express';

const CHARSET = '; charset=utf-8';

/**
 * The type that the `Accept` header prefers. All types are sent in UTF-8, so a client may ask for that, as in
 * `text/csv; charset=utf-8`. A range with a parameter matches only types with that parameter.
 */
export function findAcceptedType(request: Request, types: readonly string[]): string | undefined {
  const accepted = request.accepts(types.map((type) => type + CHARSET));
  return types.find((type) => type + CHARSET === accepted);
}
