import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable, pipeline } from 'node:stream';
import { Logger } from '@nestjs/common';
import type { Request } from 'express';
import { FairShares, NoRoom } from '../../shared/fair-shares.js';
import { rateLimitExceeded, serviceUnavailable } from './api-error.js';

export interface ReaderLimits {
  /** Average bytes in a minute that a client must take in each second of waiting for it. */
  readonly bytesPerSecond: number;
  /** Bytes of all bodies that clients have not read yet. */
  readonly maxUnreadBytes: number;
}

const LOOK_EVERY_MS = 1_000;
const WINDOW_MS = 60_000;
/**
 * Larger than the buffers of all writers, so that a piece is requested once the previous piece is written.
 */
const PIECE_BYTES = 128 * 1024;
/** Smaller bodies fit into the buffers of the operating system and are not counted. */
const COUNTED_FROM_BYTES = 16 * 1024;

/** How a client reads a response. */
interface Reading {
  /** Milliseconds of waiting for the client: in all, and in this window. */
  waitedMs: number;
  windowMs: number;
  /** Bytes that the connection had sent when the window began. */
  from: number;
}

/**
 * Bounds what slow clients cost, for every kind of response: a client that reads too slowly loses its
 * connection, and its unread bytes count against its team.
 */
export class ResponseReaders {
  private readonly log = new Logger(ResponseReaders.name);
  private readonly readings = new Map<ServerResponse, Reading>();
  private bytesPerSecond = 0;
  private unread = new FairShares(Infinity);

  /** Sets the limits; before this call nothing is limited. */
  limit({ bytesPerSecond, maxUnreadBytes }: ReaderLimits): void {
    this.bytesPerSecond = bytesPerSecond;
    this.unread = new FairShares(maxUnreadBytes);
  }

  /** Bytes of all bodies that clients have not read yet. */
  get unreadBytes(): number {
    return this.unread.used;
  }

  watch(server: Server): void {
    server.prependListener('request', (_: IncomingMessage, response: ServerResponse) => {
      sendInPieces(response);
      this.readings.set(response, { waitedMs: 0, windowMs: 0, from: 0 });
      response.once('close', () => this.readings.delete(response));
    });
    const timer = setInterval(() => {
      this.look();
    }, LOOK_EVERY_MS).unref();
    server.once('close', () => {
      clearInterval(timer);
    });
  }

  /**
   * Counts a body until its response is closed.
   *
   * @throws ApiError 429 if the team already has too much unread, 503 if the other teams leave no room
   */
  hold(response: ServerResponse, bytes: number): void {
    if (bytes < COUNTED_FROM_BYTES) return;
    const { account } = response.req as Request;
    try {
      const release = this.unread.take({
        team: account?.teamId,
        amount: bytes,
        waitedMs: () => this.readings.get(response)?.waitedMs ?? 0,
        end: () => {
          this.cut(response, 'another team needs the memory of what it has not read');
        },
      });
      response.once('close', release);
    } catch (error) {
      if (!(error instanceof NoRoom)) throw error;
      throw error.because === 'team' ? rateLimitExceeded(1) : serviceUnavailable();
    }
  }

  private look(): void {
    for (const [response, reading] of this.readings) {
      const { socket } = response;
      const sent = socket ? socket.bytesWritten - socket.writableLength : 0;
      // Time in which this service looks for the next bytes does not count as the reader's.
      if (response.writableLength === 0) reading.windowMs = 0;
      else if (reading.windowMs === 0) Object.assign(reading, { windowMs: LOOK_EVERY_MS, from: sent });
      else {
        reading.windowMs += LOOK_EVERY_MS;
        reading.waitedMs += LOOK_EVERY_MS;
        if (reading.windowMs <= WINDOW_MS) continue;
        if (sent - reading.from < (this.bytesPerSecond * WINDOW_MS) / 1_000)
          this.cut(response, `it takes fewer than ${this.bytesPerSecond} bytes a second`);
        else Object.assign(reading, { windowMs: LOOK_EVERY_MS, from: sent });
      }
    }
  }

  private cut(response: ServerResponse, reason: string): void {
    this.log.warn(`the connection of a client was closed: ${reason}`);
    // A reset also frees the bytes that the operating system has not sent.
    const { socket } = response.req;
    if (socket instanceof Socket) socket.resetAndDestroy();
    response.destroy();
  }
}

/** Parts of one buffer. If the whole is larger than the buffers of writers, each part is. */
export function* cutInPieces(whole: Buffer): Generator<Buffer> {
  let from = 0;
  for (; whole.length - from >= 2 * PIECE_BYTES; from += PIECE_BYTES)
    yield whole.subarray(from, from + PIECE_BYTES);
  yield whole.subarray(from);
}

/**
 * Sends large bodies in pieces as the client takes them: of a single write, nobody can tell how much was
 * sent.
 */
function sendInPieces(response: ServerResponse): void {
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
  response.end = ((chunk?: unknown, ...rest: unknown[]) => {
    const encoding = typeof rest[0] === 'string' ? (rest[0] as BufferEncoding) : 'utf8';
    const isBytes = chunk instanceof Uint8Array;
    if ((!isBytes && typeof chunk !== 'string') || chunk.length < 2 * PIECE_BYTES) return end(chunk, ...rest);
    const body = isBytes
      ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
      : Buffer.from(chunk, encoding);
    if (!response.headersSent && !response.hasHeader('Transfer-Encoding'))
      response.setHeader('Content-Length', body.length);
    // Only the connection can fail here.
    pipeline(Readable.from(cutInPieces(body)), response, () => undefined);
    return response;
  }) as typeof response.end;
}
