/** Names of the errors that tests order; others come from the engine with theirs. */
const NAMES: Readonly<Record<number, string>> = {
  33: 'CANNOT_READ_ALL_DATA',
  159: 'TIMEOUT_EXCEEDED',
  160: 'TOO_SLOW',
  202: 'TOO_MANY_SIMULTANEOUS_QUERIES',
  210: 'NETWORK_ERROR',
  241: 'MEMORY_LIMIT_EXCEEDED',
  394: 'QUERY_WAS_CANCELLED',
  439: 'CANNOT_SCHEDULE_TASK',
  516: 'AUTHENTICATION_FAILED',
  1000: 'POCO_EXCEPTION',
};
const VERSION = '(version 26.7.2.1 (official build))';

/** Statuses of errors; all others are a 500 (`exceptionCodeToHTTPStatus` of the server). */
const STATUS: Readonly<Record<string, number>> = {
  36: 400,
  62: 400,
  60: 404,
  81: 404,
  115: 404,
  159: 408,
  192: 403,
  193: 403,
  194: 401,
  209: 503,
  439: 503,
  497: 403,
  516: 403,
};

/** An error as a client of the server sees it. */
export class ServerException extends Error {
  constructor(
    readonly code: number,
    message: string,
    name = NAMES[code] ?? 'UNKNOWN',
  ) {
    super(`Code: ${code}. DB::Exception: ${message}. (${name}) ${VERSION}`);
  }

  get status() {
    return STATUS[this.code] ?? 500;
  }
}

/** The engine's error, in the server's words. */
export function serverException(error: unknown): ServerException {
  if (error instanceof ServerException) return error;
  const { message } = error as Error;
  const [, code, text = message, name] =
    /^Code: (\d+)\. DB::Exception: ([^]*)\. \((\w+)\)\s*$/.exec(message) ?? [];
  return new ServerException(Number(code ?? 1001), text, name);
}
