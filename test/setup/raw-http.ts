import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { text as read } from 'node:stream/consumers';
import type { Answer } from './conforms.js';
import { keepAnswer } from './secrets/run.js';

const agent = new Agent({ keepAlive: true, maxSockets: 16 });

/** What a request is made of, but for its address. */
export interface Asked {
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

/** Sends one request and reads its answer. The path goes as it is, not normalized as `fetch` would. */
export async function send(
  base: string,
  path: string,
  { method = 'GET', headers = {}, body }: Asked = {},
): Promise<Answer> {
  const { hostname, port } = new URL(base);
  const outgoing = request({ agent, host: hostname, port, path, method, headers });
  outgoing.end(body);
  const [incoming] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
  const answer = { status: incoming.statusCode ?? 0, headers: incoming.headers, text: await read(incoming) };
  keepAnswer(answer);
  return answer;
}

/**
 * Writes bytes to a connection of its own, each character one byte, and resolves to all that came back once the server
 * closed it.
 *
 * @throws Error when the server has not closed it within `withinMs`.
 */
export function exchange(base: string, bytes: string, withinMs = 5_000): Promise<string> {
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
export function requestText(
  target: string,
  { method = 'GET', headers = {} }: Asked = {},
  version = '1.1',
): string {
  const lines = Object.entries({ Host: 'test', Connection: 'close', ...headers });
  return `${method} ${target} HTTP/${version}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** The answers in what came back over a connection, in order; `methods` of the requests, where one is not a GET. */
export function answersIn(received: string, methods: readonly string[] = []): Answer[] {
  const answers: Answer[] = [];
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
    if (end < 0 || Number.isNaN(status)) throw new Error(`Not an HTTP answer: ${rest.slice(0, 200)}`);
    const length = methods[answers.length] === 'HEAD' ? 0 : Number(headers['content-length'] ?? 0);
    answers.push({ status, headers, text: rest.slice(end + 4, end + 4 + length) });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}

/** Signs of the inside: a stack, a file, an error's class, the engine. */
const INSIDE = /\bat \S+ \(|node_modules|\.[jt]s:\d|Error:|ClickHouse|DB::|SELECT/;

/** The one answer to bytes that are sent as they are, which tells nothing of the inside. */
export async function answerTo(base: string, bytes: string, method = 'GET'): Promise<Answer> {
  const answers = answersIn(await exchange(base, bytes), [method]);
  expect([bytes.slice(0, 200), answers.length]).toEqual([bytes.slice(0, 200), 1]);
  const answer = answers[0]!;
  if (answer.status !== 200) expect(answer.text).not.toMatch(INSIDE);
  return answer;
}

/** Lets go of kept-alive connections. */
export function hangUp() {
  agent.destroy();
}
