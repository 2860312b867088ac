import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { resolveRequestId } from './request-id.middleware.js';

const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};
/**
 * Closing a socket with unread input sends RST and may destroy our response: the input is drained for this
 * long first.
 */
const LINGER_MS = 5_000;
const REQUEST_ID = /(?:^|\n)x-request-id:[ \t]*([\x21-\x7e]+)[ \t]*\r?(?:\n|$)/i;

/** Node's parser attaches the last packet to its errors. */
interface ClientError extends NodeJS.ErrnoException {
  rawPacket?: Buffer;
}

/** The last response that was begun on each connection. */
const lastResponses = new WeakMap<Duplex, ServerResponse>();
const truncations = new WeakMap<Readable, 400 | 408>();

/** Tracks responses, so that an error response does not overtake an earlier one on the connection. */
export function trackResponse({ socket }: IncomingMessage, response: ServerResponse) {
  lastResponses.set(socket, response);
}

/** Responds to input that cannot be parsed as HTTP, in the common format of errors. */
export function handleClientError(error: ClientError, socket: Duplex) {
  // Input after the first error is an error too; its response was already sent.
  if (socket.writableEnded) return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const before = lastResponses.get(socket);
  if (before && !before.req.complete)
    markTruncated(before.req, error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400);
  if (before && !before.writableFinished) {
    before.once('close', () => {
      handleClientError(error, socket);
    });
    return;
  }
  // The error is in the body of a request that already has its response.
  if (before && !before.req.complete) close(socket);
  else
    writeErrorResponse(
      socket,
      STATUS[error.code ?? ''] ?? '400 Bad Request',
      parseRequestId(error.rawPacket),
    );
}

/**
 * The status of a request whose body is truncated, or became invalid HTTP (400), or took too long (408); else
 * undefined.
 */
export function findTruncation(request: Readable): 400 | 408 | undefined {
  return truncations.get(request) ?? (request.destroyed ? 400 : undefined);
}

/** Ends a reader of the body, which would otherwise wait forever. */
function markTruncated(request: IncomingMessage, status: 400 | 408) {
  truncations.set(request, status);
  request.emit('aborted');
}

/** CONNECT opens a tunnel; Node does not pass it to the router. */
export function rejectConnect({ headers }: IncomingMessage, socket: Duplex) {
  writeErrorResponse(socket, '405 Method Not Allowed', resolveRequestId(headers['x-request-id']), [
    'Allow: GET, HEAD',
  ]);
}

/**
 * The client's request ID if it can be read: a packet may contain whole requests before the malformed one.
 */
function parseRequestId(packet: Buffer | undefined): string {
  const broken = packet?.toString('latin1').trimEnd().split('\r\n\r\n').at(-1);
  return resolveRequestId(REQUEST_ID.exec(broken ?? '')?.[1]);
}

function writeErrorResponse(
  socket: Duplex,
  status: string,
  requestId: string,
  headers: readonly string[] = [],
) {
  const body = JSON.stringify({ detail: status.slice(4) });
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json; charset=utf-8',
    'X-Content-Type-Options: nosniff',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    ...headers,
    'Connection: close',
  ];
  close(socket, `${head.join('\r\n')}\r\n\r\n${body}`);
}

function close(socket: Duplex, payload = '') {
  socket.on('error', () => socket.destroy());
  socket.end(payload);
  socket.resume();
  const deadline = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => {
    clearTimeout(deadline);
  });
}
