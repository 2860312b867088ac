import type { Request } from 'express';

const CHARSET = '; charset=utf-8';

/**
 * Which of these types the `Accept` header prefers. All are sent in UTF-8, so a client may ask for that, as
 * in `text/csv; charset=utf-8`: a range with a parameter names only the types that have it.
 */
export function findAcceptedType(request: Request, types: readonly string[]): string | undefined {
  const accepted = request.accepts(types.map((type) => type + CHARSET));
  return types.find((type) => type + CHARSET === accepted);
}
