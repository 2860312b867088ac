import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { requestIdOf } from './request-id.middleware.js';

const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};
/** Closing with bytes unread resets the connection, and the answer is lost with it: so long they are read, unseen. */
const LINGER_MS = 5_000;
const REQUEST_ID = /(?:^|\n)x-request-id:[ \t]*([\x21-\x7e]+)[ \t]*\r?(?:\n|$)/i;

/** Errors of Node's parser carry the bytes that it was given last. */
interface ClientError extends NodeJS.ErrnoException {
  rawPacket?: Buffer;
}

/** The last answer begun on each connection. */
const answers = new WeakMap<Duplex, ServerResponse>();
const brokenOff = new WeakSet<IncomingMessage>();

/** Keeps the order on a connection: an answer that is still being made goes before one to what follows it. */
export function rememberAnswer({ socket }: IncomingMessage, response: ServerResponse) {
  answers.set(socket, response);
}

/** Answers what is not HTTP enough to become a request, in the shape of every other error. */
export function answerClientError(error: ClientError, socket: Duplex) {
  // What comes behind the first error is in error too; its answer is on its way.
  if (socket.writableEnded) return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const before = answers.get(socket);
  if (before && !before.req.complete) breakOff(before.req);
  if (before && !before.writableFinished) {
    before.once('close', () => {
      answerClientError(error, socket);
    });
    return;
  }
  // The body of a request that has its answer already.
  if (before && !before.req.complete) close(socket);
  else answerOn(socket, STATUS[error.code ?? ''] ?? '400 Bad Request', requestIdIn(error.rawPacket));
}

/** Whether the body of the request has no end: it broke off, or went on as no HTTP. */
export function isBrokenOff(request: IncomingMessage): boolean {
  return request.destroyed || brokenOff.has(request);
}

/** Whoever reads its body waits for an end that does not come. */
function breakOff(request: IncomingMessage) {
  brokenOff.add(request);
  request.emit('aborted');
}

/** CONNECT asks for a tunnel: it is no request that the router could see. */
export function refuseTunnel({ headers }: IncomingMessage, socket: Duplex) {
  answerOn(socket, '405 Method Not Allowed', requestIdOf(headers['x-request-id']), ['Allow: GET, HEAD']);
}

/** The caller's ID where it can be read: a packet may hold whole requests before the broken one. */
function requestIdIn(packet: Buffer | undefined): string {
  const broken = packet?.toString('latin1').trimEnd().split('\r\n\r\n').at(-1);
  return requestIdOf(REQUEST_ID.exec(broken ?? '')?.[1]);
}

function answerOn(socket: Duplex, status: string, requestId: string, headers: readonly string[] = []) {
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

function close(socket: Duplex, lastWords = '') {
  socket.on('error', () => socket.destroy());
  socket.end(lastWords);
  socket.resume();
  const deadline = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => {
    clearTimeout(deadline);
  });
}
