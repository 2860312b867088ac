import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { resolveRequestId } from './request-id.middleware.js';

const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};
/** Closing a socket with unread input sends RST and may destroy our response: the input is drained for this long first. */
const LINGER_MS = 5_000;
const REQUEST_ID = /(?:^|\n)x-request-id:[ \t]*([\x21-\x7e]+)[ \t]*\r?(?:\n|$)/i;

/** Errors of Node's parser carry the bytes that it was given last. */
interface ClientError extends NodeJS.ErrnoException {
  rawPacket?: Buffer;
}

/** The last answer begun on each connection. */
const lastResponses = new WeakMap<Duplex, ServerResponse>();
const truncatedRequests = new WeakSet<IncomingMessage>();

/** Keeps the order on a connection: an answer that is still being made goes before one to what follows it. */
export function trackResponse({ socket }: IncomingMessage, response: ServerResponse) {
  lastResponses.set(socket, response);
}

/** Answers what is not HTTP enough to become a request, in the shape of every other error. */
export function handleClientError(error: ClientError, socket: Duplex) {
  // What comes behind the first error is in error too; its answer is on its way.
  if (socket.writableEnded) return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const before = lastResponses.get(socket);
  if (before && !before.req.complete) markTruncated(before.req);
  if (before && !before.writableFinished) {
    before.once('close', () => {
      handleClientError(error, socket);
    });
    return;
  }
  // The body of a request that has its answer already.
  if (before && !before.req.complete) close(socket);
  else
    writeErrorResponse(
      socket,
      STATUS[error.code ?? ''] ?? '400 Bad Request',
      parseRequestId(error.rawPacket),
    );
}

/** Whether the body of the request has no end: it broke off, or went on as no HTTP. */
export function isTruncated(request: IncomingMessage): boolean {
  return request.destroyed || truncatedRequests.has(request);
}

/** Whoever reads its body waits for an end that does not come. */
function markTruncated(request: IncomingMessage) {
  truncatedRequests.add(request);
  request.emit('aborted');
}

/** CONNECT asks for a tunnel: it is no request that the router could see. */
export function rejectConnect({ headers }: IncomingMessage, socket: Duplex) {
  writeErrorResponse(socket, '405 Method Not Allowed', resolveRequestId(headers['x-request-id']), [
    'Allow: GET, HEAD',
  ]);
}

/** The caller's ID where it can be read: a packet may hold whole requests before the broken one. */
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
