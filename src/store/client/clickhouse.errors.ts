import type { StoreKind } from './transport.js';

/** The store cannot be reached, is overloaded or rejects the query: 503 (docs/contract.md#errors). */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable';
}

/** The result of a query exceeds the limit on bytes (TOO_MANY_ROWS_OR_BYTES); a retry fails again. */
export class ResultTooLarge extends StoreUnavailable {
  override readonly name = 'ResultTooLarge';
}

/**
 * The result of a query exceeds the limit on rows (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO); a retry fails again.
 */
export class ResultTooLong extends Error {
  override readonly name = 'ResultTooLong';
}

/** The engine cannot read stored data: 503 as well, but permanent. */
export class StoredDataDamaged extends StoreUnavailable {
  override readonly name = 'StoredDataDamaged';

  /** @param query the name of the query that failed. */
  constructor(
    readonly code: string,
    options: ErrorOptions & { query?: string } = {},
  ) {
    const { query } = options;
    super(`stored data is damaged (${code})${query === undefined ? '' : `, query ${query}`}`, options);
  }
}

/** The disk of the store is full: 503 as well, until space is freed. */
export class DiskFull extends StoreUnavailable {
  override readonly name = 'DiskFull';

  constructor(code: string, options: ErrorOptions = {}) {
    super(`the disk of the store is full (${code}); doctor says how much is free`, options);
  }
}

/** A query exceeded its time limit: 504 (docs/contract.md#errors). */
export class QueryTimedOut extends Error {
  override readonly name = 'QueryTimedOut';
}

/** Another process has the embedded engine's directory open. */
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

/** The embedded engine cannot open its directory; it wrote the reason to standard error. */
export class DataDirectoryUnusable extends StoreUnavailable {
  override readonly name = 'DataDirectoryUnusable';
  constructor(path: string, options?: ErrorOptions) {
    super(
      `The engine cannot open the data directory ${path}; its reason is above. If files in it are damaged, keep a copy ` +
        'of the directory and restore the last backup.',
      options,
    );
  }
}

const NOT_ENOUGH_SPACE = '243';
/** The operating system's message for a full disk, which the engine reports under many codes. */
const NO_SPACE_LEFT = /No space left on device|ENOSPC|EDQUOT/;

/** TOO_MANY_ROWS_OR_BYTES: of a result. */
const TOO_LARGE = '396';
/** FUNCTION_THROW_IF_VALUE_IS_NON_ZERO: used only for the limit on rows. */
const TOO_LONG = '395';
/** TIMEOUT_EXCEEDED, TOO_SLOW. */
const TIMED_OUT = new Set(['159', '160']);

/**
 * Errors of the engine that mean "unavailable" or "not allowed": UNKNOWN_TABLE 60 and UNKNOWN_DATABASE 81 (a
 * store that is not yet migrated), TOO_MANY_ROWS 158, READONLY 164 and SETTING_CONSTRAINT_VIOLATION 452 (a
 * limit that the account may not set), CANNOT_OPEN_FILE 76 (too many are open), CANNOT_ALLOCATE_MEMORY 173,
 * UNKNOWN_USER 192, WRONG_PASSWORD 193, REQUIRED_PASSWORD 194, DNS_ERROR 198, QUOTA_EXCEEDED 201,
 * TOO_MANY_SIMULTANEOUS_QUERIES 202, NO_FREE_CONNECTION 203, SOCKET_TIMEOUT 209, NETWORK_ERROR 210,
 * NO_ZOOKEEPER 225, ABORTED 236, MEMORY_LIMIT_EXCEEDED 241, TABLE_IS_READ_ONLY 242, TOO_MANY_PARTS 252,
 * ALL_CONNECTION_TRIES_FAILED 279, TOO_FEW_LIVE_REPLICAS 285, TOO_MANY_BYTES 307, ALL_REPLICAS_ARE_STALE 369,
 * QUERY_WAS_CANCELLED 394, ALL_REPLICAS_LOST 415, CANNOT_SCHEDULE_TASK 439, ACCESS_DENIED 497, S3_ERROR 499,
 * AUTHENTICATION_FAILED 516, USER_SESSION_LIMIT_EXCEEDED 700, USER_EXPIRED 720, QUERY_WAS_CANCELLED_BY_CLIENT
 * 735, SERVER_OVERLOADED 745, TCP_CONNECTION_LIMIT_REACHED 749, HTTP_CONNECTION_LIMIT_REACHED 762,
 * TOO_MANY_UNAVAILABLE_SHARDS 904, KEEPER_EXCEPTION 999.
 */
const UNAVAILABLE = new Set(
  (
    '60 76 81 158 164 173 192 193 194 198 201 202 203 209 210 225 236 241 242 252 279 285 307 369 394 415 439 452 ' +
    '497 499 516 700 720 735 745 749 762 904 999'
  ).split(' '),
);

/**
 * Errors of the engine when it reads damaged files: ATTEMPT_TO_READ_AFTER_EOF 32, CANNOT_READ_ALL_DATA 33,
 * TOO_LARGE_SIZE_COMPRESSED 39, CHECKSUM_DOESNT_MATCH 40, CANNOT_READ_FROM_FILE_DESCRIPTOR 74,
 * CANNOT_SEEK_THROUGH_FILE 87, SIZES_OF_MARKS_FILES_ARE_INCONSISTENT 91, FILE_DOESNT_EXIST 107,
 * NO_FILE_IN_DATA_PART 226, UNEXPECTED_FILE_IN_DATA_PART 227, BAD_SIZE_OF_FILE_IN_DATA_PART 228,
 * NOT_FOUND_EXPECTED_DATA_PART 230, TOO_MANY_UNEXPECTED_DATA_PARTS 231, BAD_DATA_PART_NAME 233,
 * CORRUPTED_DATA 246, CANNOT_DECOMPRESS 271, AIO_READ_ERROR 274, SEEK_POSITION_OUT_OF_BOUND 361,
 * UNKNOWN_CODEC 432, POTENTIALLY_BROKEN_DATA_PART 740.
 */
const DAMAGED = new Set(
  '32 33 39 40 74 87 91 107 226 227 228 230 231 233 246 271 274 361 432 740'.split(' '),
);

/** Connection closed by the server, which may not have seen the request. */
const CLOSED = new Set(['ECONNRESET', 'EPIPE']);

/**
 * Maps an error of the store by its code; only a full disk is recognised by its message. Other errors of the
 * engine are returned unchanged. With a server, all errors without an engine code count as network errors.
 */
export function toStoreError(error: unknown, kind: StoreKind = 'server'): unknown {
  // Either mapped already, or a bug of this service.
  if (error instanceof StoreUnavailable || error instanceof TypeError) return error;
  const code = getErrorCode(error);
  const isEngineError = code !== undefined && /^\d+$/.test(code);
  if (isEngineError && TIMED_OUT.has(code))
    return new QueryTimedOut(`query timed out (${code})`, { cause: error });
  if (code === TOO_LARGE) return new ResultTooLarge(`store not available (${code})`, { cause: error });
  if (code === TOO_LONG) return new ResultTooLong(`too many rows (${code})`, { cause: error });
  if (code === NOT_ENOUGH_SPACE || isOutOfSpace(error))
    return new DiskFull(code ?? 'ENOSPC', { cause: error });
  if (isEngineError && DAMAGED.has(code)) return new StoredDataDamaged(code, { cause: error });
  if (isEngineError ? UNAVAILABLE.has(code) : kind === 'server')
    return new StoreUnavailable(
      `store not available (${code ?? 'no response from the engine'}${describePeer(error)})`,
      {
        cause: error,
      },
    );
  return error;
}

/** MEMORY_LIMIT_EXCEEDED */
const OUT_OF_MEMORY = '241';

/**
 * Whether a query exceeded its limits on time, memory or the result. A query of a smaller part may be within
 * them.
 */
export function exceedsLimits(error: unknown): boolean {
  return (
    error instanceof ResultTooLarge ||
    error instanceof QueryTimedOut ||
    (error instanceof StoreUnavailable && getErrorCode(error.cause) === OUT_OF_MEMORY)
  );
}

/** Whether the outcome of a failed write is unknown; otherwise the engine rejected it. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof StoredDataDamaged) return false;
  return error instanceof StoreUnavailable || error instanceof QueryTimedOut;
}

/**
 * Whether the connection closed before a response. This happens when the server closes a keep-alive
 * connection at that moment.
 */
export function isClosedConnection(error: unknown): boolean {
  return CLOSED.has(getErrorCode(error) ?? '');
}

function isOutOfSpace(error: unknown): boolean {
  return error instanceof Error && NO_SPACE_LEFT.test(`${getErrorCode(error) ?? ''} ${error.message}`);
}

/** The address in an error of the network; a host name may have several. */
function describePeer(error: unknown): string {
  const { address, hostname, port } = (error instanceof AggregateError ? error.errors[0] : error) as {
    address?: string;
    hostname?: string;
    port?: number;
  };
  const host = address ?? hostname;
  if (host === undefined) return '';
  return `: ${host.includes(':') ? `[${host}]` : host}${port === undefined ? '' : `:${port}`}`;
}

/** Engine errors have a number as code; errors of the network and of Node have a word. */
function getErrorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
