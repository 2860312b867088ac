import { type RequestListener, createServer } from 'node:http';
import { Readable, pipeline } from 'node:stream';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Response } from 'express';
import { FileResponse } from './file-response.js';
import { handleClientError, rejectConnect, trackResponse } from './client-error.js';
import { manageIdleConnections } from './idle-connections.js';
import { JsonResponse, setResponseHeaders } from './json-response.js';
import { ResponseReaders } from './response-readers.js';
import { sendStream } from './streamed-file.js';
import { startZstd } from './zstd.js';

/** Connections per port; far below the usual limit of open files. */
export const MAX_CONNECTIONS = 5_000;
const HEADERS_WITHIN_MS = 30_000;
/** Memory of a place for files. A larger part, such as a long period of metrics, counts as unread. */
const PLACE_BYTES = 16 * 1024 * 1024;
/**
 * A compressed response has eleven listeners for its end, five of them added here. Node.js 24 would warn of a
 * leak.
 */
const MAX_RESPONSE_LISTENERS = 20;

/**
 * Express on a server that accepts the longest URL of the contract (a path filter of 1,024 characters has 12
 * KiB when percent-encoded), keeps connections longer than usual load balancers do (60 s), and responds to
 * malformed HTTP in the common format of errors.
 */
export class HttpAdapter extends ExpressAdapter {
  readonly readers = new ResponseReaders();

  /** @param requestTimeout time limit in milliseconds for the arrival of a request; 0: no limit */
  constructor(private readonly requestTimeout = HEADERS_WITHIN_MS) {
    const instance = express();
    // Set first, because Express creates its router on first use with the settings at that time.
    instance.enable('case sensitive routing');
    instance.enable('strict routing');
    super(instance);
  }

  /** Bodies that the engine wrote are bytes; the framework would serialize them as a JSON object. */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    if (body instanceof FileResponse) {
      response.set({ 'Content-Type': body.mediaType, ...body.headers });
      if (Buffer.isBuffer(body.body)) return this.reply(response, body.body, statusCode);
      const { hasPlace } = body.body;
      const setPart = (bytes: number) => {
        this.readers.setPart(response, hasPlace && bytes <= PLACE_BYTES ? 0 : bytes);
      };
      return void sendStream(response, body.body, setPart);
    }
    if (body instanceof JsonResponse) {
      setResponseHeaders(response, body);
      return this.reply(response, body.body, statusCode);
    }
    // Express would respond to `If-None-Match: *` with 304.
    if (response.get('ETag') === undefined) delete response.req.headers['if-none-match'];
    if (!Buffer.isBuffer(body)) return super.reply(response, body, statusCode) as unknown;
    // Before the headers of a coding that an error would not have.
    if (!response.req.fresh && response.req.method !== 'HEAD') this.readers.hold(response, body.length);
    if (statusCode !== undefined) response.status(statusCode);
    // A 304 has no body; `send` produces it.
    const zstd = response.req.fresh ? undefined : startZstd(response, body.length);
    if (!zstd) return response.send(body);
    if (response.req.method === 'HEAD') return response.end();
    // Only the connection can fail here, and the log line of the request reports that.
    return pipeline(Readable.from([body]), zstd, response, () => undefined);
  }

  override initHttpServer() {
    const server = createServer(
      {
        maxHeaderSize: 65_536,
        keepAliveTimeout: 65_000,
        headersTimeout: HEADERS_WITHIN_MS,
        requestTimeout: this.requestTimeout,
        requireHostHeader: false,
      },
      this.getInstance<RequestListener>(),
    );
    server.maxConnections = MAX_CONNECTIONS;
    manageIdleConnections(server);
    this.readers.watch(server);
    server.on('request', (_request, response) => response.setMaxListeners(MAX_RESPONSE_LISTENERS));
    server.on('request', trackResponse).on('clientError', handleClientError).on('connect', rejectConnect);
    // An unknown `Expect` may be ignored. Node's own 417 would lack the usual headers.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    this.httpServer = server;
  }
}
