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
import { FailureModes, failBefore, failWithin } from './failure-modes.js';
import type { Order, Reply, SeenQuery, Started } from './protocol.js';
import { type StoreRequest, readRequest } from './request.js';
import { writeException, writeHead } from './response.js';

const [directory = '', port = '0', user = 'default', password = ''] = process.argv.slice(2);
const engine = new Engine(directory);
const failureModes = new FailureModes();
const REMEMBERED = 5_000;
const seen: SeenQuery[] = [];

// As long as the server's own default, `keep_alive_timeout`.
const server = createServer({ keepAliveTimeout: 10_000 }, (request, response) => {
  handle(request, response).catch((error: unknown) => {
    if (response.headersSent) response.destroy();
    else writeException(response, serverException(error));
  });
});

async function handle(request: IncomingMessage, response: ServerResponse) {
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
  await handleQuery(asked, response);
}

async function handleQuery({ statement, queryId }: StoreRequest, response: ServerResponse) {
  const name = /log_comment = '([^']*)'/.exec(statement.query)?.[1] ?? '';
  const query: SeenQuery = { name, settings: statement.settings, outcome: 'running' };
  seen.push(query);
  if (seen.length > REMEMBERED) seen.shift();
  response.once('close', () => {
    query.outcome = response.writableFinished ? 'answered' : 'client_closed';
  });
  const failure = failureModes.take(name);
  if (failure?.kind === 'late') {
    if (failure.isReset) response.socket?.resetAndDestroy();
    await pause(failure.ms);
  }
  if (failBefore(failure, response)) return;
  const rows = await engine.run(statement);
  if (response.destroyed) return;
  const tag = writeHead(response, queryId, statement.format, rows);
  if (failure && failure.kind !== 'late') await failWithin(failure, response, rows.body, tag);
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
  if (order.do === 'fail') failureModes.add(order.order);
  else if (order.do === 'heal') failureModes.clear();
  else if (order.do === 'refuse') await refuse();
  else if (order.do === 'accept') await listen(given);
  else return seen;
  return [];
}

function report(message: Started | Reply) {
  process.send?.(message);
}

await listen(Number(port));
const given = (server.address() as AddressInfo).port;
process.on('message', ({ id, order }: { id: number; order: Order }) => {
  void obey(order).then((queries) => {
    report({ id, seen: queries });
  });
});
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
report({ port: given });
