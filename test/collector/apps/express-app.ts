/** An Express application as its users write them, monitored by the client library as it comes from npm. */
import type { AddressInfo } from 'node:net';
import { setConsumer, useApitally } from 'apitally/express';
import express from 'express';
import { MONITORING, parseConsumer, reportPort, startTracing, traced } from './monitored.js';

startTracing();
const app = express();
useApitally(app, MONITORING);
app.use(express.json({ limit: '1mb' }));
app.use((request, _response, next) => {
  setConsumer(request, parseConsumer(request.header('x-consumer')));
  next();
});

app.get('/v1/users/:userId', (request, response) => {
  console.log(`looking for user ${request.params.userId}`);
  const user = traced('SELECT users', () => ({ id: request.params.userId, password: 'hunter2' }));
  console.info('found');
  response.json(user);
});
app.post('/v1/users', (request, response) => {
  const { name } = request.body as { name?: string };
  if (name === undefined) {
    const error = { type: 'field', location: 'body', path: 'name', msg: 'must be given' };
    response.status(422).json({ errors: [error] });
    return;
  }
  response.status(201).json({ name, token: 'abc' });
});
app.post('/v1/files', (request, response) => {
  response.status(201).json({ length: JSON.stringify(request.body).length });
});
app.get('/v1/boom', () => {
  throw new TypeError('the express application failed');
});
app.get('/health', (_request, response) => {
  response.json({ status: 'ok' });
});

const server = app.listen(0, '127.0.0.1', () => {
  reportPort((server.address() as AddressInfo).port);
});
