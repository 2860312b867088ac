import { isGzip, readUnpackedSize } from '../decoding/gunzip.js';
import type { ApiError } from '../../platform/http/api-error.js';
import { payloadTooLarge } from '../../platform/http/request-body.js';

/** Every body may unpack to this size: a few equal lines compress well and are no attack. */
const ALWAYS_UNPACKED_BYTES = 1024 * 1024;

/** The largest decompressed size of a body: a multiple of its size, within the limit of its kind. */
export class UnpackLimit {
  constructor(
    readonly maxBytes: number,
    private readonly maxRatio: number,
  ) {}

  /** @param bytes size of the body, or of the part that arrived so far */
  find(bytes: number): number {
    return Math.min(this.maxBytes, Math.max(ALWAYS_UNPACKED_BYTES, bytes * this.maxRatio));
  }

  /** Bytes that a body has or, where it is gzip, says to have unpacked; at most what it may unpack to. */
  estimate(body: Buffer): number {
    const unpacked = isGzip(body) ? Math.min(readUnpackedSize(body), this.find(body.length)) : 0;
    return Math.max(body.length, unpacked);
  }

  /** The error of a body that exceeds the limit. */
  explain(bytes: number): ApiError {
    return this.find(bytes) === this.maxBytes
      ? payloadTooLarge()
      : payloadTooLarge(`unpacks to more than ${this.maxRatio} times its size (COLLECTOR_MAX_UNPACK_RATIO)`);
  }
}
