import { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { FileStream } from '../common/formats/file-response.js';
import { STALLED_READER_MS } from './streamed-list.js';
import { startZstd } from './zstd.js';

const log = new Logger('StreamedFile');

/**
 * Sends a file as it is made, as fast as its reader takes it, after the headers, which go out at once.
 *
 * A file that cannot be completed breaks the connection off: its last chunk never comes, and no HTTP client takes what came
 * for a whole body. HTTP/1.0 knows no chunks; there the connection is reset, since its end would be the body's.
 */
export async function sendStream(
  response: Response,
  { chunks, trailers, signal }: FileStream,
): Promise<void> {
  const { req: request } = response;
  const isChunked = request.httpVersion !== '1.0';
  const takesTrailers = isChunked && /(?:^|,)\s*trailers\s*(?:,|$)/i.test(request.header('te') ?? '');
  if (takesTrailers) response.set('Trailer', Object.keys(trailers()).join(', '));
  const stopOnStall = () => {
    // Silence while the next rows are looked for is not the reader's.
    if (response.writableLength > 0) breakOff(request, response);
  };
  response.setTimeout(STALLED_READER_MS, stopOnStall);
  const zstd = startZstd(response);
  response.flushHeaders();
  const stopInTime = () => {
    breakOff(request, response);
  };
  signal?.addEventListener('abort', stopInTime);
  try {
    await (zstd ? pipeline(withTrailers(), zstd, response) : pipeline(withTrailers(), response));
  } catch (error) {
    const cause: unknown = signal?.aborted ? signal.reason : error;
    if (!isClosedByClient(cause))
      log.warn(`a response was cut off: ${cause instanceof Error ? cause.message : String(cause)}`);
  } finally {
    signal?.removeEventListener('abort', stopInTime);
  }

  async function* withTrailers() {
    try {
      yield* chunks;
    } catch (error) {
      // The pipeline would end the connection in good order.
      breakOff(request, response);
      throw error;
    }
    if (takesTrailers) response.addTrailers(trailers());
  }
}

/** The connection is gone, or the request was given up for that reason. */
function isClosedByClient(error: unknown): boolean {
  const { name = '', code = '' } = error as { name?: string; code?: string };
  return (
    name === 'ClientDisconnected' ||
    code === 'ERR_STREAM_PREMATURE_CLOSE' ||
    code === 'ECONNRESET' ||
    code === 'EPIPE'
  );
}

function breakOff({ httpVersion, socket }: Request, response: Response): void {
  if (httpVersion === '1.0' && socket instanceof Socket) socket.resetAndDestroy();
  response.destroy();
}
