/**
 * The same application in several frameworks, monitored by version 0 of the client library:
 * `node hub.cjs <framework>`.
 */
const console = require('node:console');
const process = require('node:process');

const MONITORING = {
  clientId: process.env.CLIENT_ID,
  env: 'prod',
  requestLogging: { enabled: true, logException: true, captureLogs: true },
};
const port = Number(process.env.PORT);
const host = '127.0.0.1';

function findUser(id) {
  console.log(`loading ${id}`);
  return { id };
}

function fail() {
  throw new TypeError('no luck');
}

const APPLICATIONS = {
  async fastify() {
    const { apitallyPlugin, setConsumer } = require('apitally/fastify');
    const app = require('fastify')();
    await app.register(apitallyPlugin, MONITORING);
    app.addHook('preHandler', async (request) => setConsumer(request, request.headers['x-user']));
    app.get('/users/:id', async (request) => findUser(request.params.id));
    app.post('/users', async (_request, reply) => reply.status(201).send({}));
    app.get('/boom', async () => fail());
    await app.listen({ port, host });
  },
  koa() {
    const { setConsumer, useApitally } = require('apitally/koa');
    const Koa = require('koa');
    const Router = require('@koa/router');
    const app = new Koa();
    useApitally(app, MONITORING);
    app.silent = true;
    app.use(async (context, next) => {
      setConsumer(context, context.get('x-user'));
      await next();
    });
    const router = new Router();
    router.get('/users/:id', (context) => {
      context.body = findUser(context.params.id);
    });
    router.post('/users', (context) => {
      context.status = 201;
      context.body = {};
    });
    router.get('/boom', fail);
    app.use(router.routes());
    app.listen(port, host);
  },
  hono() {
    const { setConsumer, useApitally } = require('apitally/hono');
    const { Hono } = require('hono');
    const { serve } = require('@hono/node-server');
    const app = new Hono();
    useApitally(app, MONITORING);
    app.use(async (context, next) => {
      setConsumer(context, context.req.header('x-user'));
      await next();
    });
    app.get('/users/:id', (context) => context.json(findUser(context.req.param('id'))));
    app.post('/users', (context) => context.json({}, 201));
    app.get('/boom', fail);
    serve({ fetch: app.fetch, port, hostname: host });
  },
  async hapi() {
    const { apitallyPlugin, setConsumer } = require('apitally/hapi');
    const server = require('@hapi/hapi').server({ port, host, debug: false });
    await server.register({ plugin: apitallyPlugin(MONITORING) });
    server.ext('onPreHandler', (request, h) => {
      setConsumer(request, request.headers['x-user']);
      return h.continue;
    });
    server.route([
      { method: 'GET', path: '/users/{id}', handler: (request) => findUser(request.params.id) },
      { method: 'POST', path: '/users', handler: (_request, h) => h.response({}).code(201) },
      { method: 'GET', path: '/boom', handler: fail },
    ]);
    await server.start();
  },
};

void APPLICATIONS[process.argv[2]]();
