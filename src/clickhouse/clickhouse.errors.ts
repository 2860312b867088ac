/** The store cannot be reached, is overloaded or refuses: 503 (contract, section 3). */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable';
}

/** A query ran past its time limit: 504 (contract, section 3). */
export class QueryTimedOut extends Error {
  override readonly name = 'QueryTimedOut';
}

/** Another process holds the embedded engine's directory. */
export class DataDirectoryInUse extends StoreUnavailable {
  override readonly name = 'DataDirectoryInUse';
  constructor(path: string, options?: ErrorOptions) {
    super(
      `The data directory ${path} is in use by another process (a server or another command): ` +
        'stop that one first, use another DATA_DIR, or set CLICKHOUSE_URL to share a ClickHouse server.',
      options,
    );
  }
}

/** TIMEOUT_EXCEEDED, TOO_SLOW. */
const TIMED_OUT = new Set(['159', '160']);

/**
 * The engine's own words for "not now": TOO_MANY_ROWS 158, TOO_MANY_SIMULTANEOUS_QUERIES 202, NO_FREE_CONNECTION 203,
 * SOCKET_TIMEOUT 209, NETWORK_ERROR 210, MEMORY_LIMIT_EXCEEDED 241, TABLE_IS_READ_ONLY 242, NOT_ENOUGH_SPACE 243,
 * TOO_MANY_PARTS 252, ALL_CONNECTION_TRIES_FAILED 279, TOO_MANY_BYTES 307, TOO_MANY_ROWS_OR_BYTES 396,
 * QUERY_WAS_CANCELLED 394, CANNOT_SCHEDULE_TASK 439, AUTHENTICATION_FAILED 516, REQUIRED_PASSWORD 194,
 * UNKNOWN_DATABASE 81 (a store that is not yet migrated), UNKNOWN_TABLE 60, USER_EXPIRED 743, KEEPER_EXCEPTION 999.
 */
const REFUSED = '60 81 158 194 202 203 209 210 241 242 243 252 279 307 394 396 439 516 743 999'.split(' ');

/** Engine errors carry the number of their kind as code, errors of the network and of Node a word: one set holds both. */
const UNAVAILABLE = new Set([
  ...REFUSED,
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'HPE_INVALID_CONSTANT',
  'UND_ERR_SOCKET',
]);

/** What went wrong in the store, by code, never by message; anything not known comes back as it was. */
export function storeError(error: unknown): unknown {
  const code = codeOf(error);
  if (code === undefined) return error;
  if (TIMED_OUT.has(code)) return new QueryTimedOut(`query timed out (${code})`, { cause: error });
  if (UNAVAILABLE.has(code)) return new StoreUnavailable(`store not available (${code})`, { cause: error });
  return error;
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
