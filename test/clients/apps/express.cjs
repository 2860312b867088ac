const { trace } = require('@opentelemetry/api');
const express = require('express');
const pino = require('pino');
const process = require('node:process');

const app = express();
const logger = pino();
app.use(express.json());
app.use((request, _response, next) => {
  const user = request.header('x-user');
  if (user) trace.getActiveSpan()?.setAttribute('user.id', user);
  next();
});
app.get('/users/:id', (request, response) => {
  trace.getTracer('app').startActiveSpan('load user', (span) => {
    logger.info(`loading ${request.params.id}`);
    span.end();
    response.json({ id: request.params.id });
  });
});
app.post('/users', (_request, response) => response.status(201).json({}));
app.get('/boom', () => {
  throw new TypeError('no luck');
});
app.listen(Number(process.env.PORT), '127.0.0.1');
