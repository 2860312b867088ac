import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable, pipeline } from 'node:stream';
import { Logger } from '@nestjs/common';
import type { Request } from 'express';
import { FairShares, NoRoom } from '../../shared/fair-shares.js';
import type { CutReason, Metrics } from '../../telemetry/metrics/metrics.js';
import { rateLimitExceeded, serviceUnavailable } from './api-error.js';

export interface ReaderLimits {
  /** Average bytes in a window that a client must take in each second of waiting for it. */
  readonly bytesPerSecond: number;
  /** Bytes of all bodies that clients have not read yet. */
  readonly maxUnreadBytes: number;
  /** Milliseconds of waiting for the client after which its rate is judged; a minute. */
  readonly windowMs?: number;
}

const LOOK_EVERY_MS = 1_000;
/** Larger than the buffers of all writers, so that a piece is requested once the one before is written. */
const PIECE_BYTES = 128 * 1024;
/**
 * Smaller bodies are never refused: an error would be hardly smaller, and the buffers of the operating
 * system take most of them.
 */
const REFUSED_FROM_BYTES = 16 * 1024;
/** What an error says nothing of, because it is not that body. */
const HEADERS_OF_BODY = [
  'ETag',
  'Link',
  'Cache-Control',
  'Content-Length',
  'X-Percentile-Accuracy',
  'X-Consumer-Coverage',
];

/** How a client reads a response. */
interface Reading {
  /** Milliseconds of waiting for the client: in all, and in this window. */
  waitedMs: number;
  windowMs: number;
  /** Bytes that the connection had sent when the window began. */
  from: number;
  /** Bytes of the part of a streamed body that is being sent. */
  partBytes: number;
  /** Whether the whole body counts until the response is closed. */
  isHeld: boolean;
  /** Gives back what it counts. */
  release: () => void;
}

/**
 * Bounds what clients cost that do not read their responses, however a response is sent. A client that reads
 * too slowly loses its connection, and what it has not read yet counts against its team. A body that is given
 * as a whole counts from then on, and is refused where there is no room for it. Everything else counts as it
 * is found unread on its connection, each second.
 */
export class ResponseReaders {
  private readonly log = new Logger(ResponseReaders.name);
  private readonly readings = new Map<ServerResponse, Reading>();
  private bytesPerSecond = 0;
  private windowMs = 0;
  private unread = new FairShares(Infinity);
  private metrics: Metrics | null = null;

  /** Until then nothing is limited. */
  limit(limits: ReaderLimits, metrics: Metrics | null): void {
    const { bytesPerSecond, maxUnreadBytes, windowMs = 60_000 } = limits;
    this.bytesPerSecond = bytesPerSecond;
    this.windowMs = windowMs;
    this.unread = new FairShares(maxUnreadBytes);
    this.metrics = metrics;
  }

  /** Bytes of all bodies that clients have not read yet. */
  get unreadBytes(): number {
    return this.unread.used;
  }

  watch(server: Server): void {
    server.prependListener('request', (_: IncomingMessage, response: ServerResponse) => {
      sendInPieces(response);
      const reading: Reading = {
        waitedMs: 0,
        windowMs: 0,
        from: 0,
        partBytes: 0,
        isHeld: false,
        release: () => undefined,
      };
      this.readings.set(response, reading);
      response.once('close', () => {
        this.readings.delete(response);
        reading.release();
      });
    });
    const timer = setInterval(() => {
      this.look();
    }, LOOK_EVERY_MS).unref();
    server.once('close', () => {
      clearInterval(timer);
    });
  }

  /**
   * Counts bodies as the handlers give them: place it behind what compresses them, whose buffers have them
   * uncompressed.
   */
  readonly holdBodies = (_: unknown, response: ServerResponse, next: () => void): void => {
    const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
    response.end = ((chunk?: unknown, ...rest: unknown[]) => {
      if (chunk instanceof Uint8Array || typeof chunk === 'string') this.hold(response, chunk.length);
      return end(chunk, ...rest);
    }) as typeof response.end;
    next();
  };

  /**
   * Counts a body until its response is closed.
   *
   * @throws ApiError 429 if the team already has too much unread, 503 if the other teams leave no room
   */
  hold(response: ServerResponse, bytes: number): void {
    const reading = this.readings.get(response);
    if (bytes < REFUSED_FROM_BYTES || !reading || reading.isHeld) return;
    try {
      this.count(response, reading, bytes);
      reading.isHeld = true;
    } catch (error) {
      if (!(error instanceof NoRoom)) throw error;
      for (const name of HEADERS_OF_BODY) response.removeHeader(name);
      throw error.because === 'team' ? rateLimitExceeded(1) : serviceUnavailable();
    }
  }

  /** Counts a part of a streamed body, which is in memory until the next one. */
  setPart(response: ServerResponse, bytes: number): void {
    const reading = this.readings.get(response);
    if (reading) reading.partBytes = bytes;
  }

  /** @throws NoRoom */
  private count(response: ServerResponse, reading: Reading, amount: number): void {
    reading.release();
    reading.release = () => undefined;
    if (amount === 0) return;
    reading.release = this.unread.take({
      team: (response.req as Request).account?.teamId,
      amount,
      waitedMs: () => reading.waitedMs,
      end: () => {
        this.cut(response, 'memory');
      },
    });
  }

  private look(): void {
    for (const [response, reading] of this.readings)
      if (response.req.socket.destroyed) closeQueued(response);
      else this.measureRate(response, reading);
    const streamed = [...this.readings].filter(([, { isHeld }]) => !isHeld);
    for (const [response, reading] of streamed) this.count(response, reading, 0);
    // Of too many, those that were waited for longest find no room.
    for (const [response, reading] of streamed.sort(([, a], [, b]) => a.waitedMs - b.waitedMs))
      if (response.writableLength > 0)
        try {
          this.count(response, reading, Math.max(response.writableLength, reading.partBytes));
        } catch (error) {
          if (!(error instanceof NoRoom)) throw error;
          this.cut(response, 'memory');
        }
  }

  private measureRate(response: ServerResponse, reading: Reading): void {
    const { socket } = response;
    const sent = socket ? socket.bytesWritten - socket.writableLength : 0;
    // Silence while the next bytes are looked for is not the reader's.
    if (response.writableLength === 0) reading.windowMs = 0;
    else if (reading.windowMs === 0) Object.assign(reading, { windowMs: LOOK_EVERY_MS, from: sent });
    else {
      reading.windowMs += LOOK_EVERY_MS;
      reading.waitedMs += LOOK_EVERY_MS;
      if (reading.windowMs <= this.windowMs) return;
      if (sent - reading.from < (this.bytesPerSecond * this.windowMs) / 1_000) this.cut(response, 'slow');
      else Object.assign(reading, { windowMs: LOOK_EVERY_MS, from: sent });
    }
  }

  private cut(response: ServerResponse, because: CutReason): void {
    const { socket } = response.req;
    // Several responses can wait on one connection.
    if (socket.destroyed) return;
    const why =
      because === 'slow'
        ? `it takes fewer than ${this.bytesPerSecond} bytes a second`
        : 'others need the memory of what it has not read';
    const request = response.getHeader('X-Request-Id') ?? response.req.url;
    this.log.warn(`the connection of a client was closed: ${why} (request ${String(request)})`);
    this.metrics?.countCutReader(because);
    // A reset also frees what the operating system has not sent.
    if (socket instanceof Socket) socket.resetAndDestroy();
    response.destroy();
  }
}

/**
 * Node closes the response that a connection sends when it is lost, and none of those that pipelining put
 * behind it.
 */
function closeQueued(response: ServerResponse): void {
  if (response.closed) return;
  response.destroy();
  response.emit('close');
}

/** Parts of one buffer; each larger than the buffers of writers, if the whole is. */
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
