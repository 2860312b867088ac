/**
 * A small server with the HTTP interface of ClickHouse over the embedded engine, in a process of its own:
 * `main.ts DIRECTORY PORT USER PASSWORD`. Takes orders over the channel of its process, see `protocol.ts`.
 */
import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Engine } from './engine.js';
import { ServerException, serverException } from './exception.js';
import { Faults, failBefore, failWithin } from './failure-modes.js';
import type { Order, Reply, SeenQuery, Started } from './protocol.js';
import { type StoreRequest, readRequest } from './request.js';
import { writeException, writeHead } from './response.js';

const [directory = '', port = '0', user = 'default', password = ''] = process.argv.slice(2);
const engine = new Engine(directory);
const faults = new Faults();
const REMEMBERED = 5_000;
const seen: SeenQuery[] = [];

// As long as the server's own default, `keep_alive_timeout`.
const server = createServer({ keepAliveTimeout: 10_000 }, (request, response) => {
  answer(request, response).catch((error: unknown) => {
    if (response.headersSent) response.destroy();
    else writeException(response, serverException(error));
  });
});

async function answer(request: IncomingMessage, response: ServerResponse) {
  if (request.url === '/ping') {
    response.end('Ok.\n');
    return;
  }
  const asked = await readRequest(request);
  if (asked.user !== user || asked.password !== password)
    throw new ServerException(
      516,
      `${asked.user}: Authentication failed: password is incorrect, or there is no user with such name`,
    );
  await answerQuery(asked, response);
}

async function answerQuery({ statement, queryId }: StoreRequest, response: ServerResponse) {
  const name = /log_comment = '([^']*)'/.exec(statement.query)?.[1] ?? '';
  const query: SeenQuery = { name, settings: statement.settings, outcome: 'running' };
  seen.push(query);
  if (seen.length > REMEMBERED) seen.shift();
  response.once('close', () => {
    query.outcome = response.writableFinished ? 'answered' : 'abandoned';
  });
  const fault = faults.take(name);
  if (fault?.kind === 'late') await pause(fault.ms);
  if (failBefore(fault, response)) return;
  const rows = await engine.run(statement);
  if (response.destroyed) return;
  const tag = writeHead(response, queryId, statement.format, rows);
  if (fault && fault.kind !== 'late') await failWithin(fault, response, rows.body, tag);
  else response.end(rows.body);
}

async function listen(at: number) {
  server.listen(at, '127.0.0.1');
  await once(server, 'listening');
}

async function refuse() {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

async function obey(order: Order): Promise<SeenQuery[]> {
  if (order.do === 'fail') faults.add(order.order);
  else if (order.do === 'heal') faults.clear();
  else if (order.do === 'refuse') await refuse();
  else if (order.do === 'accept') await listen(given);
  else return seen;
  return [];
}

function tell(message: Started | Reply) {
  process.send?.(message);
}

await listen(Number(port));
const given = (server.address() as AddressInfo).port;
process.on('message', ({ id, order }: { id: number; order: Order }) => {
  void obey(order).then((queries) => {
    tell({ id, seen: queries });
  });
});
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
tell({ port: given });
