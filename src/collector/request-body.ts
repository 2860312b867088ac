import type { IncomingMessage } from 'node:http';
import { ApiError } from '../common/http/api-error.js';
import { isBrokenOff } from '../common/http/client-error.js';
import type { Share } from './budget.js';

export const payloadTooLarge = () => new ApiError(413, 'Payload too large', { Connection: 'close' });

/**
 * The bytes of a body, at most `max` of them. Each is taken from the budget before it is kept.
 *
 * @throws ApiError 413 when there are more, 400 when the client left, or what the budget says
 */
export async function readBody(request: IncomingMessage, max: number, share: Share): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > max) throw payloadTooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  const keep = (chunk: Buffer) => {
    length += chunk.length;
    if (length > max) throw payloadTooLarge();
    share.take(chunk.length);
    chunks.push(chunk);
  };
  try {
    await readTo(request, keep);
  } finally {
    // What is not wanted is read all the same, or the connection could not take the next message.
    request.removeAllListeners('data').resume();
  }
  return Buffer.concat(chunks, length);
}

/** Rejects with what `keep` throws, or when the body breaks off: on a broken connection, or in broken HTTP. */
function readTo(request: IncomingMessage, keep: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const breakOff = () => {
      reject(new ApiError(400, 'Bad Request'));
    };
    for (const event of ['aborted', 'error', 'close']) request.once(event, breakOff);
    request.once('end', resolve);
    request.on('data', (chunk: Buffer) => {
      try {
        keep(chunk);
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
    if (isBrokenOff(request)) breakOff();
  });
}
