const { trace } = require('@opentelemetry/api');
const Koa = require('koa');
const Router = require('@koa/router');
const pino = require('pino');
const process = require('node:process');

const app = new Koa();
const router = new Router();
const logger = pino();
app.silent = true;
app.use(async (context, next) => {
  const user = context.get('x-user');
  if (user) trace.getActiveSpan()?.setAttribute('user.id', user);
  await next();
});
router.get('/users/:id', (context) => {
  trace.getTracer('app').startActiveSpan('load user', (span) => {
    logger.info(`loading ${context.params.id}`);
    span.end();
    context.body = { id: context.params.id };
  });
});
router.post('/users', (context) => {
  context.status = 201;
  context.body = {};
});
router.get('/boom', () => {
  throw new TypeError('no luck');
});
app.use(router.routes());
app.listen(Number(process.env.PORT), '127.0.0.1');
