import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { raceAbort } from '../../shared/async/race-abort.js';
import { ApiError } from './api-error.js';
import { findTruncation } from './client-error.js';

/** @param reason how the body exceeds a limit */
export const payloadTooLarge = (reason?: string) =>
  new ApiError(413, `Payload too large${reason === undefined ? '' : `: ${reason}`}`, { Connection: 'close' });
export const requestTimeout = () => new ApiError(408, 'Request Timeout', { Connection: 'close' });
/** The body of a request, by HTTP or gRPC, with the headers of it. */
export type IncomingBody = Readable & { readonly headers: IncomingHttpHeaders };

/** The error of a body that breaks off. */
function truncated(request: IncomingBody): ApiError {
  if (request.errored instanceof ApiError) return request.errored;
  return findTruncation(request) === 408 ? requestTimeout() : new ApiError(400, 'Bad Request');
}

/**
 * Whether a body is compressed.
 *
 * @throws ApiError 415 for an encoding that is not gzip
 */
export function usesGzip({ headers }: Pick<IncomingBody, 'headers'>): boolean {
  const encoding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding !== 'gzip' && encoding !== 'identity' && encoding !== '')
    throw new ApiError(415, 'Content-Encoding must be gzip, or left out', { 'Accept-Encoding': 'gzip' });
  return encoding === 'gzip';
}

/** The minimum average rate of a body, and the longest pause. */
const LEAST_BYTES_PER_SECOND = 10_000;
const GRACE_MS = 5_000;
const CHECK_MS = 1_000;
/**
 * Chunks are joined when there are this many: a sender may send each byte as a chunk, which takes a hundred
 * bytes of memory.
 */
const JOINED_CHUNKS = 1_000;

/**
 * The bytes of a body, at most `max` of them.
 * @param reserve called with the bytes so far, before they are kept; may throw
 * @throws ApiError 413 when there are more, 408 when they arrive too slowly or for too long, 400 when the
 *   client left, or what `reserve` throws
 */
export async function readBody(
  request: IncomingBody,
  max: number,
  reserve: (bytes: number) => void,
): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > max) throw payloadTooLarge();
  const chunks: Buffer[] = [];
  const recent: Buffer[] = [];
  let length = 0;
  const keep = (chunk: Buffer) => {
    length += chunk.length;
    if (length > max) throw payloadTooLarge();
    reserve(length);
    recent.push(chunk);
    if (recent.length === JOINED_CHUNKS) chunks.push(Buffer.concat(recent.splice(0)));
  };
  try {
    await readTo(request, keep);
  } finally {
    // The rest is read and dropped, so that the connection can be used for the next message.
    request.removeAllListeners('data').resume();
  }
  return Buffer.concat([...chunks, ...recent], length);
}

/**
 * Passes each chunk to `keep`. Rejects with the error that `keep` throws, or when the body stalls or breaks
 * off: on a broken connection, or in broken HTTP.
 */
function readTo(request: IncomingBody, keep: (chunk: Buffer) => void): Promise<void> {
  const startedAt = performance.now();
  let [received, receivedAt] = [0, startedAt];
  let check: NodeJS.Timeout | undefined;
  const read = new Promise<void>((resolve, reject) => {
    const breakOff = () => {
      // Each request is closed after its end, and the error would take a tenth of a short one's time.
      if (!request.readableEnded) reject(truncated(request));
    };
    for (const event of ['aborted', 'error', 'close']) request.once(event, breakOff);
    request.once('end', resolve);
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      receivedAt = performance.now();
      try {
        keep(chunk);
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
    const rejectIfSlow = () => {
      const now = performance.now();
      const expected = ((now - startedAt - GRACE_MS) / 1_000) * LEAST_BYTES_PER_SECOND;
      if (received < expected || now - receivedAt > GRACE_MS) reject(requestTimeout());
    };
    // After a suspension of this process, pending input is read after its timers and before `setImmediate`.
    check = setInterval(() => setImmediate(rejectIfSlow), CHECK_MS);
    if (findTruncation(request)) breakOff();
  });
  return read.finally(() => {
    clearInterval(check);
  });
}

/**
 * The bytes of a body as they arrive. Only time in which the caller waits for them counts as the sender's.
 *
 * @param signal ends the body; its reason is thrown
 * @param onWaited called with the milliseconds of each wait for the sender, and the bytes that arrived
 * @throws ApiError 413 when there are more than `max`, 408 when they arrive too slowly, 400 when the body
 * breaks off
 */
export async function* streamBody(
  request: IncomingMessage,
  max: number,
  signal?: AbortSignal,
  onWaited: (ms: number, bytes: number) => void = () => undefined,
): AsyncGenerator<Buffer, void, undefined> {
  if (Number(request.headers['content-length'] ?? 0) > max) throw payloadTooLarge();
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined>;
  const truncation = new AbortController();
  const breakOff = () => {
    truncation.abort(truncated(request));
  };
  for (const event of ['aborted', 'error']) request.once(event, breakOff);
  if (findTruncation(request)) breakOff();
  const end = signal ? AbortSignal.any([signal, truncation.signal]) : truncation.signal;
  let [received, waitedMs] = [0, 0];
  try {
    for (;;) {
      end.throwIfAborted();
      const leftMs = GRACE_MS + (received / LEAST_BYTES_PER_SECOND) * 1_000 - waitedMs;
      const startedAt = performance.now();
      const limitMs = Math.max(0, Math.min(GRACE_MS, leftMs));
      const next = await raceTimeout(raceAbort(end, chunks.next()), limitMs);
      const ms = performance.now() - startedAt;
      waitedMs += ms;
      onWaited(ms, next.value?.length ?? 0);
      if (next.done === true) return;
      received += next.value.length;
      if (received > max) throw payloadTooLarge();
      yield next.value;
    }
  } finally {
    // See `readBody`. The iterator's own listener would keep the rest from being dropped.
    request.removeAllListeners('readable').resume();
  }
}

/** @throws ApiError 408 after `ms` milliseconds */
function raceTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    // See `readTo`.
    const timeOut = () => {
      reject(requestTimeout());
    };
    timer = setTimeout(() => setImmediate(timeOut), ms);
  });
  return Promise.race([work, timeout]).finally(() => {
    clearTimeout(timer);
  });
}
