import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import type { Response } from 'express';
import { MEDIA_TYPES } from '../../shared/file-format.js';

/** Absent before Node.js 22.15. */
const { createZstdCompress } = zlib as typeof zlib & { createZstdCompress?: () => Transform };
/** Bodies of this many bytes and more are compressed. */
export const COMPRESSED_FROM_BYTES = 1_024;
/** The codings in which a body may be sent. */
export const CODINGS = [...(createZstdCompress ? ['zstd'] : []), 'br', 'gzip', 'deflate'];
/** These formats are compressed already. */
const COMPRESSED: readonly (string | undefined)[] = [MEDIA_TYPES.arrow, MEDIA_TYPES.parquet];

/**
 * A compressor for the body if the client prefers Zstandard to Brotli and gzip, or has no preference; sets
 * the headers that name it. Undefined if another coding, or none, is to be used.
 *
 * @param bytes of the body, if known
 */
export function startZstd(response: Response, bytes = Infinity): Transform | undefined {
  const { req: request } = response;
  if (!createZstdCompress || bytes < COMPRESSED_FROM_BYTES) return undefined;
  if (COMPRESSED.includes(response.get('Content-Type'))) return undefined;
  if (!prefersZstd(request.header('accept-encoding'))) return undefined;
  response.vary('Accept-Encoding').set('Content-Encoding', 'zstd').removeHeader('Content-Length');
  return createZstdCompress();
}

function prefersZstd(header = ''): boolean {
  const weights = new Map(
    header.split(',').map((coding) => {
      const [name = '', weight = '1'] = coding.toLowerCase().split(/;\s*q\s*=/);
      return [name.trim(), Number(weight)];
    }),
  );
  const zstd = weights.get('zstd') ?? 0;
  return zstd > 0 && ['br', 'gzip'].every((name) => zstd >= (weights.get(name) ?? 0));
}
