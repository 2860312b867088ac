const { RPCType, getRPCMetadata } = require('@opentelemetry/core');
const { context, trace } = require('@opentelemetry/api');
const pino = require('pino');
const process = require('node:process');
const { FastifyOtelInstrumentation } = require('@fastify/otel');

new FastifyOtelInstrumentation({ registerOnInitialization: true });
const app = require('fastify')();
const logger = pino();
app.addHook('preHandler', async (request) => {
  const metadata = getRPCMetadata(context.active());
  const user = request.headers['x-user'];
  if (user && metadata?.type === RPCType.HTTP) metadata.span.setAttribute('user.id', user);
});
app.get('/users/:id', async (request) => {
  const span = trace.getTracer('app').startSpan('load user');
  logger.info(`loading ${request.params.id}`);
  span.end();
  return { id: request.params.id };
});
app.post('/users', async (_request, reply) => reply.status(201).send({}));
app.get('/boom', async () => {
  throw new TypeError('no luck');
});
void app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
