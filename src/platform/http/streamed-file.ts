import { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { MessageChannel } from 'node:worker_threads';
import { Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { FileStream } from './file-response.js';
import { ClientDisconnected } from './abort-signal.middleware.js';
import { cutInPieces } from './response-readers.js';
import { startZstd } from './zstd.js';

const log = new Logger('StreamedFile');

/** Larger than the buffers of all writers, and larger than the pool that small buffers share. */
const FREED_FROM_BYTES = 1024 * 1024;
const { port1: closedPort } = new MessageChannel();
closedPort.close();

/**
 * Sends a file while it is made, as fast as its reader takes it. The headers go out at once.
 *
 * A file that cannot be completed breaks the connection off: its last chunk never comes, and no HTTP client
 * takes what came for a whole body. HTTP/1.0 knows no chunks; there the connection is reset, since its end
 * would be the body's.
 *
 * @param setPart called with the bytes of each chunk, before it is sent
 */
export async function sendStream(
  response: Response,
  { chunks, trailers, signal }: FileStream,
  setPart: (bytes: number) => void = () => undefined,
): Promise<void> {
  const { req: request } = response;
  const isChunked = request.httpVersion !== '1.0';
  const wanted =
    isChunked && /(?:^|,)\s*trailers\s*(?:,|$)/i.test(request.header('te') ?? '') ? trailers : undefined;
  if (wanted) response.set('Trailer', Object.keys(wanted()).join(', '));
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
    let sent: Buffer | undefined;
    try {
      for await (const chunk of chunks) {
        if (sent && sent.buffer !== chunk.buffer) freeSent(sent);
        sent = chunk;
        setPart(chunk.buffer.byteLength);
        // The next chunk is asked for once this one is written, because its pieces are larger than the
        // writer's buffer.
        yield* cutInPieces(chunk);
      }
    } catch (error) {
      // The pipeline would close the connection normally, as after a complete body.
      breakOff(request, response);
      throw error;
    }
    if (wanted) response.addTrailers(wanted());
  }
}

/**
 * Frees the memory of a chunk. It counts as external memory, and each 64 MB of that caused a full garbage
 * collection, a third of the processor time of an export.
 */
function freeSent({ buffer, length }: Buffer): void {
  if (length < FREED_FROM_BYTES) return;
  // A closed port takes over the transferred memory and drops it.
  closedPort.postMessage(null, [buffer as ArrayBuffer]);
}

/** Whether the client closed the connection, or the request was aborted for that reason. */
function isClosedByClient(error: unknown): boolean {
  const { code = '' } = error as { code?: string };
  return (
    error instanceof ClientDisconnected ||
    code === 'ERR_STREAM_PREMATURE_CLOSE' ||
    code === 'ECONNRESET' ||
    code === 'EPIPE'
  );
}

function breakOff({ httpVersion, socket }: Request, response: Response): void {
  if (httpVersion === '1.0' && socket instanceof Socket) socket.resetAndDestroy();
  response.destroy();
}
