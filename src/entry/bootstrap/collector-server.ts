import type { IncomingHttpHeaders, Server } from 'node:http';
import type { Socket } from 'node:net';
import { Logger as NestLogger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Request } from 'express';
import type { Logger } from 'pino';
import { AlertRunner } from '../../alerts/alert-runner.js';
import { createMeasuringServices } from '../../alerts/measuring.module.js';
import { RefusedSenders } from '../../access/tokens/refused-senders.js';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import { StoreMonitor } from '../../store/health/store-monitor.js';
import { BatchCommitter } from '../../write/batches/batch-committer.js';
import { CollectorModule } from '../../collector.module.js';
import { mergeSlashes } from '../../platform/http/raw-query.js';
import { refuseReaders } from './misdirected.middleware.js';
import { refusePipelined } from './pipelining.middleware.js';
import { limitReceiveTime } from '../../sources/intake/receive-timeout.middleware.js';
import { GRPC_CURE, GrpcServer } from '../../sources/otlp/grpc.server.js';
import { OtlpService } from '../../sources/otlp/otlp.service.js';
import { runEvery } from '../../shared/async/run-every.js';
import { LocalCoordinator, type WriterCoordinator } from '../../coordination/writer-coordinator.js';
import { Config, ConfigError } from '../../config/config.js';
import { HttpAdapter } from '../../platform/http/http.adapter.js';
import { formatBaseUrl, listen, requireFreePort } from '../../platform/http/listen.js';
import { ABANDONED_AFTER_SECONDS } from '../../write/batch-log.js';
import { openCountryDatabase } from '../../sources/decoding/client-country.js';
import { type LogDestination, PinoLogger, createServerLogger } from '../../telemetry/logger.js';
import { openTelemetry } from '../../platform/telemetry/open-telemetry.js';
import { Telemetry } from '../../telemetry/telemetry.js';
import { RedisCoordinator } from '../../coordination/redis-coordinator.js';
import { type RunningServer, startServer, warnOfConfiguration } from './api-server.js';
import { createApp } from './create-app.js';
import { reportDroppedConnections, setUpHttp } from './http-setup.js';
import { openServerStore } from '../../write/prepare-store.js';

const RECOVER_EVERY_MS = 15_000;
const MAX_SETTLE_INTERVAL_MS = 5_000;
const MIN_SETTLE_INTERVAL_MS = 500;
/** Longer than the recovery of what a dead process left. */
const COUNT_EXCEPTIONS_EVERY_MS = 45_000;

/** The parts that the collector shares with a server that already has the store open. */
interface SharedParts {
  monitor?: StoreMonitor;
  coordinator?: LocalCoordinator;
}

interface RunningCollector extends RunningServer {
  grpc: GrpcServer;
}

/**
 * Builds the collector on an open store and listens.
 *
 * @param port 0 for any free port, also of gRPC
 */
export async function startCollectorOn(
  store: ClickHouse,
  config: Config,
  logger: Logger,
  port = config.collector.port,
  shared = Telemetry.none,
  { monitor: sharedMonitor, coordinator: localCoordinator }: SharedParts = {},
): Promise<RunningCollector> {
  // Each export of spans would produce spans, endlessly.
  const sendsToItself = shared.tracing !== null && config.tracing?.localPort === port;
  if (sendsToItself)
    logger.warn('the collector is not traced: OTEL_EXPORTER_OTLP_ENDPOINT is its own address');
  const telemetry = sendsToItself ? shared.withoutTracing() : shared;
  // Only this process opens the embedded engine, so it needs no Redis to coordinate its writers.
  const local = store.kind === 'embedded' ? localCoordinator : undefined;
  const coordinator = local ?? RedisCoordinator.create(config) ?? new LocalCoordinator();
  const monitor = sharedMonitor ?? new StoreMonitor(store, telemetry.metrics);
  const module = CollectorModule.on({ config, store, monitor, coordinator, telemetry });
  // `limitReceiveTime` sets the limit here.
  const app = await createApp(module, logger, new HttpAdapter(0));
  app.use(mergeSlashes);
  const drain = setUpHttp(app, config, logger);
  app.use(limitReceiveTime(app.getHttpServer()), refusePipelined, refuseReaders(config));
  reportGrpc(app.getHttpServer(), app.get(RefusedSenders));
  const grpc = new GrpcServer(app.get(OtlpService), logger, telemetry, findAddressBy(app));
  reportDroppedConnections(grpc.connections, logger, telemetry);
  const committer = app.get(BatchCommitter);
  if (!sharedMonitor) await monitor.start();
  const stopAlerts = config.alerts.areEvaluated
    ? await startAlerts(store, config, coordinator, telemetry, logger)
    : undefined;
  const recovery = await startRecovery(committer, store.kind);
  const settleEveryMs = Math.max(MIN_SETTLE_INTERVAL_MS, config.collector.spanCountDelayMs / 2);
  const settling = runEvery(Math.min(settleEveryMs, MAX_SETTLE_INTERVAL_MS), () =>
    warnOfFailure(() => committer.settle()),
  );
  const counting = runEvery(COUNT_EXCEPTIONS_EVERY_MS, () =>
    warnOfFailure(() => committer.countExceptions()),
  );
  const beginDrain = () => {
    drain.begin();
    grpc.drain();
  };
  const stop = async () => {
    beginDrain();
    clearInterval(recovery);
    clearInterval(settling);
    clearInterval(counting);
    if (!sharedMonitor) monitor.close();
    await Promise.all([app.close(), grpc.stop()]);
    await committer.close();
    await stopAlerts?.();
    if (!local) coordinator.close();
  };
  const grpcPort = port === 0 ? 0 : config.collector.grpcPort;
  try {
    await app.init();
    await listen(app.getHttpServer(), 'COLLECTOR_PORT', port, config.host);
    if (grpcPort !== null) await grpc.listen(grpcPort, config.host);
  } catch (error) {
    await stop();
    throw error;
  }
  const grpc_url = grpcPort === null ? undefined : formatBaseUrl(config.host, grpcPort);
  logger.info({ port, url: formatBaseUrl(config.host, port), grpc_url }, 'collector listening');
  return { app, grpc, drain: beginDrain, stop };
}

/** @returns what stops them */
async function startAlerts(
  store: ClickHouse,
  config: Config,
  coordinator: WriterCoordinator,
  telemetry: Telemetry,
  logger: Logger,
): Promise<() => Promise<void>> {
  const services = await createMeasuringServices({ config, store, telemetry }, new PinoLogger(logger));
  const runner = new AlertRunner(store, services, coordinator, config, telemetry);
  runner.start();
  return async () => {
    await runner.stop();
    await services.close();
  };
}

/** Finds the addresses of clients as Express does, behind the proxies that are trusted. */
function findAddressBy(app: NestExpressApplication) {
  const { request } = app.getHttpAdapter().getInstance() as { request: object };
  return (headers: IncomingHttpHeaders, socket: Socket) =>
    (Object.create(request, { headers: { value: headers }, socket: { value: socket } }) as Request).ip;
}

/** @throws Error that names all taken ports at once: a person with a second server has three of them */
async function requireFreePorts({ host, port, collector }: Config, hasApi = false): Promise<void> {
  const checks = await Promise.allSettled([
    hasApi && requireFreePort('PORT', port, host),
    requireFreePort('COLLECTOR_PORT', collector.port, host),
    collector.grpcPort !== null &&
      requireFreePort('COLLECTOR_GRPC_PORT', collector.grpcPort, host, GRPC_CURE),
  ]);
  const failures = checks.flatMap((check) =>
    check.status === 'rejected' && check.reason instanceof Error ? check.reason : [],
  );
  const invalid = failures.find((failure) => failure instanceof ConfigError);
  if (invalid) throw invalid;
  if (failures.length > 0) throw new Error(failures.map(({ message }) => message).join(' '));
}

/** Runs the collector alone, in a process next to the read API with the same ClickHouse server. */
export async function startCollector(): Promise<RunningServer> {
  const config = new Config();
  await requireFreePorts(config);
  openCountryDatabase(config.countryDatabase);
  const telemetry = await openTelemetry(config);
  const { store, coordinator, isNew, problems, close: closeStore } = await openServerStore(config, telemetry);
  const close = () => closeStore().finally(() => telemetry.close());
  try {
    const logger = createServerLogger(config.logLevel, 'stdout');
    if (isNew) logger.info(`created a new, empty store in ${config.dataDir}`);
    for (const problem of problems) logger.error(problem);
    warnOfConfiguration(config, logger);
    const collector = await startCollectorOn(store, config, logger, config.collector.port, telemetry, {
      coordinator,
    });
    return { ...collector, stop: () => collector.stop().finally(close) };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Runs the read API and the collector in one process, because only one process can use the embedded engine.
 */
export async function startAll(
  logs: LogDestination = 'stdout',
  config = new Config(),
): Promise<RunningServer> {
  // Elsewhere they may be equal: processes of their own may have addresses of their own.
  if (config.port === config.collector.port)
    throw new ConfigError('Invalid configuration. COLLECTOR_PORT: must be another port than PORT');
  await requireFreePorts(config, true);
  openCountryDatabase(config.countryDatabase);
  const server = await startServer(logs, true, config);
  try {
    const store = server.app.get(ClickHouse);
    const telemetry = server.app.get(Telemetry);
    const logger = createServerLogger(config.logLevel, logs);
    const shared = { monitor: server.app.get(StoreMonitor), coordinator: server.app.get(LocalCoordinator) };
    const { port } = config.collector;
    const collector = await startCollectorOn(store, config, logger, port, telemetry, shared);
    return {
      app: server.app,
      drain: () => {
        collector.drain();
        server.drain();
      },
      stop: () => collector.stop().finally(() => server.stop()),
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** The first bytes of HTTP/2, which some SDKs speak by default. To Node's parser they are an error. */
const HTTP2_PREFACE = 'PRI * HTTP/2.0';

function reportGrpc(server: Server, refused: RefusedSenders): void {
  server.on('clientError', ({ rawPacket }: Error & { rawPacket?: Buffer }, { remoteAddress }: Socket) => {
    if (rawPacket?.toString('latin1', 0, HTTP2_PREFACE.length) === HTTP2_PREFACE)
      refused.report({ ip: remoteAddress, route: { path: 'the port of the collector' } }, 'grpc');
  });
}

/** Applies incomplete batches: at once if this process is the only writer. */
async function startRecovery(committer: BatchCommitter, kind: ClickHouse['kind']): Promise<NodeJS.Timeout> {
  const log = new NestLogger('Recovery');
  const recover = async (olderThanSeconds: number) => {
    try {
      const { completed, rejected } = await committer.recover(olderThanSeconds);
      if (completed > 0) log.warn(`recovered ${completed} incomplete batches`);
      for (const [batch, reason] of rejected)
        log.error(`batch ${batch}: ${reason instanceof Error ? reason.message : String(reason)}`);
    } catch (error) {
      log.warn(error instanceof Error ? error.message : error);
    }
  };
  if (kind === 'embedded') await recover(0);
  return runEvery(RECOVER_EVERY_MS, () => recover(ABANDONED_AFTER_SECONDS));
}

async function warnOfFailure(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    new NestLogger('Collector').warn(error instanceof Error ? error.message : error);
  }
}
