import { type RequestListener, createServer } from 'node:http';
import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Response } from 'express';
import { FileAnswer } from '../formats/file-answer.js';
import { STALLED_READER_MS } from './streamed-list.js';
import { sendStream } from './streamed-file.js';
import { closeIdleConnectionsWhenFull } from './idle-connections.js';
import { answerClientError, refuseTunnel, rememberAnswer } from './client-error.js';

/** Of one port. A process may open far more files than that. */
const MAX_CONNECTIONS = 5_000;

/**
 * Express on a server that takes the longest URL the contract allows (1,024 characters of path filter are 12 KiB when
 * percent-encoded), outlasts the idle time of the usual load balancer (60 s), and answers broken HTTP in our shape.
 */
export class HttpAdapter extends ExpressAdapter {
  constructor() {
    const instance = express();
    // The router is made on first use, which is before any other set-up: later it would not learn of these two.
    instance.enable('case sensitive routing');
    instance.enable('strict routing');
    super(instance);
  }

  /** Bodies that the engine wrote are bytes, which the framework would take for an object to be written as JSON. */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    if (body instanceof FileAnswer) {
      response.set({ 'Content-Type': body.mediaType, ...body.headers });
      if (Buffer.isBuffer(body.body)) return this.reply(response, body.body, statusCode);
      return void sendStream(response, body.body);
    }
    if (body instanceof StreamableFile) response.setTimeout(STALLED_READER_MS, () => response.destroy());
    if (!Buffer.isBuffer(body)) return super.reply(response, body, statusCode) as unknown;
    if (statusCode !== undefined) response.status(statusCode);
    return response.send(body);
  }

  override initHttpServer() {
    const server = createServer(
      { maxHeaderSize: 65_536, keepAliveTimeout: 65_000, requestTimeout: 30_000, requireHostHeader: false },
      this.getInstance<RequestListener>(),
    );
    server.maxConnections = MAX_CONNECTIONS;
    closeIdleConnectionsWhenFull(server);
    server.on('request', rememberAnswer).on('clientError', answerClientError).on('connect', refuseTunnel);
    // An expectation that cannot be met may be ignored; Node's own 417 has none of our headers.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    this.httpServer = server;
  }
}
