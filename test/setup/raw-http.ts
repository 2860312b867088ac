import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { text as read } from 'node:stream/consumers';
import type { HttpResponse } from './conforms.js';
import { captureResponse } from './secrets/run.js';

const agent = new Agent({ keepAlive: true, maxSockets: 16 });

/** What a request is made of, but for its address. */
export interface RawRequest {
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

/** Sends one request and reads its response. The path goes as it is, not normalized as `fetch` would. */
export async function sendRaw(
  base: string,
  path: string,
  { method = 'GET', headers = {}, body }: RawRequest = {},
): Promise<HttpResponse> {
  const { hostname, port } = new URL(base);
  const outgoing = request({ agent, host: hostname, port, path, method, headers });
  outgoing.end(body);
  const [incoming] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
  const response = {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    text: await read(incoming),
  };
  captureResponse(response);
  return response;
}

/**
 * Writes bytes to a connection of its own, each character one byte, and resolves to all that came back once
 * the server closed it.
 *
 * @throws Error when the server has not closed it within `withinMs`.
 */
export function exchangeBytes(base: string, bytes: string, withinMs = 5_000): Promise<string> {
  const { hostname, port } = new URL(base);
  return new Promise((ok, fail) => {
    const socket = connect(Number(port), hostname);
    const deadline = setTimeout(() => {
      socket.destroy();
      fail(new Error(`The connection is still open after ${withinMs} ms; so far: ${received}`));
    }, withinMs);
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => (received += chunk));
    socket.on('error', fail);
    socket.on('close', () => {
      clearTimeout(deadline);
      ok(received);
    });
    socket.write(bytes, 'latin1');
  });
}

/** The text of a request without a body; `Connection: close` unless its own headers say otherwise. */
export function formatRequest(
  target: string,
  { method = 'GET', headers = {} }: RawRequest = {},
  version = '1.1',
): string {
  const lines = Object.entries({ Host: 'test', Connection: 'close', ...headers });
  return `${method} ${target} HTTP/${version}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/**
 * The answers in what came back over a connection, in order; `methods` of the requests, where one is not a
 * GET.
 */
export function parseResponses(received: string, methods: readonly string[] = []): HttpResponse[] {
  const responses: HttpResponse[] = [];
  let rest = received;
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 2),
      ]),
    );
    if (end < 0 || Number.isNaN(status)) throw new Error(`Not an HTTP response: ${rest.slice(0, 200)}`);
    const length = methods[responses.length] === 'HEAD' ? 0 : Number(headers['content-length'] ?? 0);
    responses.push({ status, headers, text: rest.slice(end + 4, end + 4 + length) });
    rest = rest.slice(end + 4 + length);
  }
  return responses;
}

/** Signs of the inside: a stack, a file, an error's class, the engine. */
const INTERNALS = /\bat \S+ \(|node_modules|\.[jt]s:\d|Error:|ClickHouse|DB::|SELECT/;

/** The one response to bytes that are sent as they are, which tells nothing of the inside. */
export async function exchangeOne(base: string, bytes: string, method = 'GET'): Promise<HttpResponse> {
  const responses = parseResponses(await exchangeBytes(base, bytes), [method]);
  expect([bytes.slice(0, 200), responses.length]).toEqual([bytes.slice(0, 200), 1]);
  const response = responses[0]!;
  if (response.status !== 200) expect(response.text).not.toMatch(INTERNALS);
  return response;
}

/** Lets go of kept-alive connections. */
export function closeConnections() {
  agent.destroy();
}
