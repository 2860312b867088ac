import { randomBytes, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Rows } from './engine.js';
import type { ServerException } from './exception.js';

/**
 * The headers that a server puts on the response to a query; gives the tag under which an exception would
 * follow.
 */
export function writeHead(response: ServerResponse, queryId: string, format: string, rows: Rows): string {
  const tag = randomBytes(8).toString('hex');
  response.statusCode = 200;
  response.setHeader('Content-Type', 'application/x-ndjson; charset=UTF-8');
  response.setHeader('X-ClickHouse-Server-Display-Name', 'test');
  response.setHeader('X-ClickHouse-Query-Id', queryId || randomUUID());
  response.setHeader('X-ClickHouse-Format', format);
  response.setHeader('X-ClickHouse-Timezone', 'UTC');
  response.setHeader('X-ClickHouse-Exception-Tag', tag);
  response.setHeader('X-ClickHouse-Summary', summary(rows));
  return tag;
}

/** The response to a statement that failed before anything was sent. */
export function writeException(response: ServerResponse, exception: ServerException) {
  response.statusCode = exception.status;
  response.setHeader('Content-Type', 'text/plain; charset=UTF-8');
  response.setHeader('X-ClickHouse-Exception-Code', String(exception.code));
  response.end(`${exception.message}\n`);
}

function summary({ rowsRead, bytesRead, seconds }: Rows): string {
  return JSON.stringify({
    read_rows: String(rowsRead),
    read_bytes: String(bytesRead),
    elapsed_ns: String(Math.round(seconds * 1e9)),
  });
}
