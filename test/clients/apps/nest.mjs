import 'reflect-metadata';
import process from 'node:process';
import { Controller, Get, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { trace } from '@opentelemetry/api';
import pino from 'pino';

const logger = pino();

class Shop {
  findUser(id) {
    return trace.getTracer('app').startActiveSpan('load user', (span) => {
      logger.info(`loading ${id}`);
      span.end();
      return { id };
    });
  }

  createUser() {
    return {};
  }

  fail() {
    throw new TypeError('no luck');
  }
}

class App {}

/** Decorators as a compiler calls them. */
function decorate(method, ...decorators) {
  const descriptor = Object.getOwnPropertyDescriptor(Shop.prototype, method);
  for (const decorator of decorators) decorator(Shop.prototype, method, descriptor);
}
decorate('findUser', Get('users/:id'));
Param('id')(Shop.prototype, 'findUser', 0);
decorate('createUser', Post('users'));
decorate('fail', Get('boom'));
Controller()(Shop);
Module({ controllers: [Shop] })(App);

const app = await NestFactory.create(App, { logger: false });
app.use((request, _response, next) => {
  const user = request.header('x-user');
  if (user) trace.getActiveSpan()?.setAttribute('user.id', user);
  next();
});
await app.listen(Number(process.env.PORT), '127.0.0.1');
