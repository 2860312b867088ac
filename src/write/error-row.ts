import { findCapturedException } from '../records/capture.js';
import { findFingerprint } from '../records/error-fingerprint.js';
import { hasOperation, removeOperation } from '../records/operation.js';
import type { RequestIds } from '../records/names/name-registry.js';
import type { RequestRecord } from '../records/request-record.js';
import { NIL_UUID } from '../shared/nil-uuid.js';
import type { ErrorRecord } from './batches/message.js';

const HEX_TRACE_ID = /^[0-9a-f]{32}$/;

export type ErrorRow = ReturnType<typeof toErrorRow>;

/** One row of `reported_errors`. */
export function toErrorRow(
  appId: number,
  error: Omit<ErrorRecord, 'env' | 'consumer'> & { request_uuid?: string; trace_id?: string },
  ids: RequestIds,
) {
  const { timestamp, kind, type, message, location, stacktrace, sentry_event_id, errors } = error;
  return {
    app_id: appId,
    timestamp,
    ...ids,
    fingerprint: findFingerprint(error),
    kind,
    type,
    message,
    location,
    stacktrace,
    sentry_event_id,
    request_uuid: error.request_uuid ?? NIL_UUID,
    trace_id: error.trace_id ?? '',
    errors,
  };
}

/**
 * The row of the exception of a failed request, or of an operation that failed within its response; undefined
 * without one.
 *
 * @param sentPath the path of the request, also where it counts under `*`
 * @param requests the number of requests that this one stands for
 * @param isReported whether its client library reports the error: then the row is an example, and counts
 * nothing
 */
export function findExceptionRow(
  appId: number,
  record: RequestRecord,
  ids: RequestIds,
  {
    sentPath = record.path,
    requests = 1,
    isReported = false,
  }: {
    sentPath?: string | null | undefined;
    requests?: number | undefined;
    isReported?: boolean | undefined;
  } = {},
): ErrorRow | undefined {
  const isFailure = record.status_code >= 500;
  const captured =
    isFailure || hasOperation(sentPath) ? findCapturedException(record.captured_json) : undefined;
  if (captured === undefined) return undefined;
  // Client libraries report the exceptions of failed requests alone.
  const isExample = isReported && isFailure;
  const { exception, trace_id } = captured;
  const error = {
    ...record,
    ...exception,
    // The report that counts it knows the route alone, and both have one fingerprint.
    path: isExample && record.path !== null ? removeOperation(record.path) : record.path,
    kind: isExample ? ('server' as const) : ('exception' as const),
    location: [],
    sentry_event_id: exception.tracker_event_id ?? '',
    trace_id: trace_id !== null && HEX_TRACE_ID.test(trace_id) ? trace_id : '',
    errors: isExample ? 0 : requests,
  };
  return toErrorRow(appId, error, ids);
}
