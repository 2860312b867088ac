import { createIssue, valueError } from '../../platform/input/issues.js';
import { ValidationException } from '../../platform/input/validation.exception.js';
import { ResultTooLarge, ResultTooLong } from '../../store/client/clickhouse.errors.js';

/** Maps a result beyond the limits to a 422 for the body; undefined for other errors. */
export function tooMuch(error: unknown, body: object, maxRows: number): ValidationException | undefined {
  const reason =
    error instanceof ResultTooLong
      ? `the result has more than ${maxRows} rows`
      : error instanceof ResultTooLarge && 'the result has too many bytes';
  return reason ? new ValidationException([createIssue('body', [], body, valueError(reason))]) : undefined;
}
