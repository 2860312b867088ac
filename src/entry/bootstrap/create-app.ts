import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Logger } from 'pino';
import { PinoLogger } from '../../telemetry/logger.js';
import { HttpAdapter } from '../../platform/http/http.adapter.js';

/**
 * Creates an application without setup: on the service's HTTP server, without body parsing, logging through
 * `logger`.
 */
export async function createApp(
  module: object,
  logger: Logger,
  adapter = new HttpAdapter(),
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(module, adapter, {
    bodyParser: false,
    abortOnError: false,
    // The caller reports a failed start in one line, instead of the framework's stack trace.
    logger: false,
  });
  app.useLogger(new PinoLogger(logger));
  return app;
}
