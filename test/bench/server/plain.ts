import 'reflect-metadata';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Controller, Get, Module, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import express, { type Response } from 'express';
import { serve } from '../rpc.js';

/**
 * What answers everything with given bytes: Node's own server, Express on it, Nest on that, and nothing else.
 */
export type Bare = 'node:http' | 'express' | 'nest';

let headers: Record<string, string> = {};
let body = '';

function bareExpress() {
  const app = express();
  app.disable('etag').disable('x-powered-by');
  return app;
}

@Controller()
class TeamController {
  @Get('v1/team')
  get(@Res({ passthrough: true }) response: Response): string {
    response.set(headers);
    return body;
  }
}

@Module({ controllers: [TeamController] })
class BareModule {}

const starts: Record<Bare, () => Promise<Server>> = {
  'node:http': () =>
    Promise.resolve(
      createServer((_, response) => {
        response.writeHead(200, headers).end(body);
      }),
    ),
  express: () =>
    Promise.resolve(
      createServer(
        bareExpress().get('/v1/team', (_, response) => {
          response.set(headers).send(body);
        }),
      ),
    ),
  nest: async () => {
    const app = await NestFactory.create<NestExpressApplication>(BareModule, { logger: false });
    app.disable('etag').disable('x-powered-by');
    await app.init();
    return app.getHttpServer();
  },
};

const handlers = {
  /** Listens, and from then on answers with these bytes; the port. */
  listen: async (
    kind: Bare,
    response: { headers: Record<string, string>; body: string },
  ): Promise<number> => {
    ({ headers, body } = response);
    const server = await starts[kind]();
    return new Promise((ok) => {
      server.listen(0, '127.0.0.1', () => {
        ok((server.address() as AddressInfo).port);
      });
    });
  },
};
export type PlainHandlers = typeof handlers;

serve(handlers);
process.once('disconnect', () => process.exit(0));
