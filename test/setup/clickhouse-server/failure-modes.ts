import type { ServerResponse } from 'node:http';
import { ServerException } from './exception.js';
import type { FailureMode, FailureOrder } from './protocol.js';
import { writeException } from './response.js';

/** The failures in force; the last ordered comes first. */
export class FailureModes {
  private orders: FailureOrder[] = [];

  add(order: FailureOrder) {
    this.orders.unshift(order);
  }

  clear() {
    this.orders = [];
  }

  /** The failure that hits a query, if one does; each hits as many as were ordered. */
  take(name: string): FailureMode | undefined {
    const order = this.orders.find(({ on, times }) => (on ?? name) === name && times !== 0);
    if (order?.skip) {
      order.skip--;
      return undefined;
    }
    if (order?.times !== undefined) order.times--;
    return order?.failure;
  }
}

/** Responds without the engine's help; false when the failure needs rows, or there is none. */
export function failBefore(failure: FailureMode | undefined, response: ServerResponse): boolean {
  if (failure?.kind === 'hang') return true;
  if (failure?.kind === 'reset') response.socket?.resetAndDestroy();
  else if (failure?.kind === 'exception') writeException(response, toException(failure.code));
  else if (failure?.kind === 'stranger')
    response.writeHead(failure.status, { 'Content-Type': 'text/html' }).end(failure.body);
  else return false;
  return true;
}

/** Sends the head and a part of the rows, and then what was ordered. */
export async function failWithin(failure: FailureMode, response: ServerResponse, body: Buffer, tag: string) {
  if (failure.kind === 'cut' && failure.framing === 'length')
    response.setHeader('Content-Length', body.length);
  if (failure.kind === 'cut' && failure.framing === 'none') {
    response.setHeader('Connection', 'close');
    response.removeHeader('Transfer-Encoding');
    response.useChunkedEncodingByDefault = false;
  }
  const rows = firstRows(body, failure.kind === 'cut' && failure.where === 'in-row');
  if (failure.kind === 'slow-body') return drip(response, body);
  await written(response, rows);
  if (failure.kind === 'cut') response.socket?.end();
  else if (failure.kind === 'exception-in-body') endWith(failure, response, tag);
}

/** The rows up to the middle one, or half of that as well. */
function firstRows(body: Buffer, inRow: boolean): Buffer {
  const end = body.indexOf('\n', Math.floor(body.length / 2) - 1) + 1;
  const before = body.lastIndexOf('\n', end - 2) + 1;
  return body.subarray(0, inRow || before === 0 ? Math.floor((before + end) / 2) : before);
}

function endWith(
  { code, form }: FailureMode & { kind: 'exception-in-body' },
  response: ServerResponse,
  tag: string,
) {
  const { message } = toException(code);
  if (form === 'plain') response.end(`${message}\n`);
  else if (form === 'row') response.end(`${JSON.stringify({ exception: message })}\n`);
  else if (form === 'tagged')
    response.end(
      `\r\n__exception__\r\n${tag}\r\n${message}\n${message.length + 1} ${tag}\r\n__exception__\r\n`,
    );
  else
    void written(response, Buffer.from(`__exception__\n${message}\n`)).then(() => {
      response.socket?.end();
    });
}

async function drip(response: ServerResponse, body: Buffer) {
  const pause = 60_000 / body.length;
  for (const byte of body) {
    if (response.destroyed) return;
    await written(response, Buffer.of(byte));
    await new Promise((ok) => setTimeout(ok, pause));
  }
  response.end();
}

function written(response: ServerResponse, bytes: Buffer): Promise<void> {
  return new Promise((ok) => {
    response.write(bytes, () => {
      ok();
    });
  });
}

function toException(code: number): ServerException {
  const text = code === 516 ? 'default: Authentication failed: password is incorrect' : 'ordered by a test';
  return new ServerException(code, text);
}
