/** A NestJS application as its users write them, monitored by the client library as it comes from npm. */
import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import {
  Body,
  Controller,
  Get,
  type INestApplication,
  Logger,
  Module,
  Param,
  Post,
  Req,
  UnprocessableEntityException,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setConsumer, useApitally } from 'apitally/nestjs';
import type { NextFunction, Request, Response } from 'express';
import { MONITORING, parseConsumer, reportPort, startTracing, traced } from './monitored.js';

@Controller()
class SampleController {
  private readonly log = new Logger('Users');

  @Get('v1/users/:userId')
  user(@Param('userId') userId: string) {
    this.log.log(`looking for user ${userId}`);
    const user = traced('SELECT users', () => ({ id: userId, password: 'hunter2' }));
    this.log.warn('found');
    return user;
  }

  @Post('v1/users')
  create(@Body() { name }: { name?: string }) {
    if (name === undefined) throw new UnprocessableEntityException(['name must be given']);
    return { name, token: 'abc' };
  }

  @Post('v1/files')
  file(@Req() { body }: Request) {
    return { length: JSON.stringify(body).length };
  }

  @Get('v1/boom')
  boom(): never {
    throw new TypeError('the nest application failed');
  }

  @Get('health')
  health() {
    return { status: 'ok' };
  }
}

@Module({ controllers: [SampleController] })
class SampleModule {}

startTracing();
const app: INestApplication = await NestFactory.create(SampleModule, { logger: false });
await useApitally(app, MONITORING);
app.use((request: Request, _response: Response, next: NextFunction) => {
  setConsumer(request, parseConsumer(request.header('x-consumer')));
  next();
});
await app.listen(0, '127.0.0.1');
reportPort((app.getHttpServer() as { address(): AddressInfo }).address().port);
