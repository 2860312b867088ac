import type { IncomingMessage } from 'node:http';
import { ApiError } from '../common/http/api-error.js';
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
  try {
    // Breaking off must leave the connection open for the answer.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > max) throw payloadTooLarge();
      share.take(chunk.length);
      chunks.push(chunk);
    }
  } catch (error) {
    throw request.errored === null ? error : new ApiError(400, 'Bad Request');
  }
  return Buffer.concat(chunks, length);
}
