import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import { PinoLogger } from '../observability/logger.js';
import { HttpAdapter } from '../http/http.adapter.js';

/** An application of ours, not yet set up: on our HTTP server, bodies unread, logging through `logger`. */
export async function createApp(module: object, logger: Logger): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(module, new HttpAdapter(), {
    bodyParser: false,
    abortOnError: false,
    // A failed start is told in one line by whoever asked for it, not by the framework's stack trace.
    logger: false,
  });
  app.useLogger(new PinoLogger(logger));
  return app;
}
