import { create, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { AnySchema, DurationSchema } from '@bufbuild/protobuf/wkt';
import { Metadata, type StatusObject, status } from '@grpc/grpc-js';
import type { HttpException } from '@nestjs/common';
import { ApiError } from '../../platform/http/api-error.js';
import { StatusSchema } from './generated/google/rpc/status_pb.js';

/**
 * What the statuses of HTTP are in gRPC. Senders repeat RESOURCE_EXHAUSTED with a `RetryInfo`, which 429 has
 * and 413 has not, UNAVAILABLE and DEADLINE_EXCEEDED, and nothing else of these.
 */
const CODES: Readonly<Record<number, status>> = {
  400: status.INVALID_ARGUMENT,
  401: status.UNAUTHENTICATED,
  403: status.PERMISSION_DENIED,
  408: status.DEADLINE_EXCEEDED,
  413: status.RESOURCE_EXHAUSTED,
  415: status.UNIMPLEMENTED,
  422: status.INVALID_ARGUMENT,
  429: status.RESOURCE_EXHAUSTED,
  503: status.UNAVAILABLE,
  504: status.DEADLINE_EXCEEDED,
};
const DETAILS = 'grpc-status-details-bin';

/** The status of a call whose request over HTTP would have this error. */
export function toGrpcStatus(error: HttpException): StatusObject {
  const code = CODES[error.getStatus()] ?? status.INTERNAL;
  const message = error instanceof ApiError ? error.detail : error.message;
  const retryAfter = error instanceof ApiError ? error.headers['Retry-After'] : undefined;
  const metadata = new Metadata();
  if (retryAfter !== undefined) {
    const details = [create(AnySchema, packRetryInfo(Number(retryAfter)))];
    const detailed = toBinary(StatusSchema, create(StatusSchema, { code, message, details }));
    metadata.set(DETAILS, Buffer.from(detailed));
  }
  return { code, details: message, metadata };
}

/** A `google.rpc.RetryInfo`, whose only field is the delay. */
function packRetryInfo(seconds: number): { typeUrl: string; value: Uint8Array } {
  const delay = toBinary(DurationSchema, create(DurationSchema, { seconds: BigInt(seconds) }));
  const value = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(delay).finish();
  return { typeUrl: 'type.googleapis.com/google.rpc.RetryInfo', value };
}
