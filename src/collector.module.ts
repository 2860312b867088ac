import { type DynamicModule, type InjectionToken, Module, type Provider } from '@nestjs/common';
import { ClickHouse } from './store/client/clickhouse.client.js';
import { StoreMonitor } from './store/health/store-monitor.js';
import { Config } from './config/config.js';
import { HealthModule } from './ops/health/health.module.js';
import { FallbackModule } from './platform/http/fallback.module.js';
import { BatchLog } from './write/batch-log.js';
import { KnownRequests } from './write/known-requests.js';
import { NameRegistry } from './records/names/name-registry.js';
import { Redactor } from './records/redaction/redactor.js';
import { RequestClaims } from './write/request-claims.js';
import { RequestsWriter } from './write/requests.writer.js';
import type { WriterCoordinator } from './coordination/writer-coordinator.js';
import { Telemetry } from './telemetry/telemetry.js';
import { FailedAuthLimiter } from './access/rate-limit/failed-auth-limiter.js';
import { RateLimitModule } from './access/rate-limit/rate-limit.module.js';
import { WindowCounter } from './access/rate-limit/window.counter.js';
import { BatchBuilder } from './write/batches/batch-builder.js';
import { BatchCommitter } from './write/batches/batch-committer.js';
import { InnerSpans } from './write/batches/inner-spans.js';
import { InstanceCounts } from './write/batches/instance-counts.js';
import { IntervalDays } from './write/batches/interval-days.js';
import { RepeatedRecords } from './write/batches/repeated-records.js';
import { ApiDocuments } from './write/batches/api-documents.js';
import { TraceExceptions } from './write/batches/trace-exceptions.js';
import { MessageLocks } from './write/batches/message-locks.js';
import { ClientApps } from './access/tokens/client-apps.js';
import { RefusedSenders } from './access/tokens/refused-senders.js';
import { CollectorController } from './sources/hub/collector.controller.js';
import { CollectorService } from './sources/hub/collector.service.js';
import { MessageIntake } from './sources/intake/message-intake.js';
import { OtlpController } from './sources/otlp/otlp.controller.js';
import { OtlpService } from './sources/otlp/otlp.service.js';
import { ParseThreads } from './sources/parsing/parse-threads.js';
import { RequestsController } from './sources/requests/requests.controller.js';
import { RequestsService } from './sources/requests/requests.service.js';
import { TOKEN_FAILURES, TokenAuthentication } from './sources/intake/token-authentication.js';
import { WriteTokens } from './access/tokens/write-tokens.js';

/** Dependencies of the collector; the caller closes them. */
export interface CollectorResources {
  config: Config;
  store: ClickHouse;
  monitor: StoreMonitor;
  coordinator: WriterCoordinator;
  telemetry: Telemetry;
}

@Module({})
class ResourcesModule {}

/** The collector: an application of its own next to the read API, with the same store. */
@Module({})
export class CollectorModule {
  static on(collectorResources: CollectorResources): DynamicModule {
    const { config, store, monitor, coordinator, telemetry } = collectorResources;
    const resources: Provider[] = [
      { provide: Config, useValue: config },
      { provide: ClickHouse, useValue: store },
      { provide: StoreMonitor, useValue: monitor },
      { provide: Telemetry, useValue: telemetry },
    ];
    const redactor = new Redactor(config.redaction);
    // One instance of each for everything that writes in this process.
    const ingestion: Provider[] = [
      { provide: NameRegistry, useValue: NameRegistry.create(store, coordinator, config.nameLimits) },
      { provide: RequestClaims, useValue: new RequestClaims(coordinator) },
      { provide: BatchLog, useValue: new BatchLog(store, coordinator) },
      { provide: Redactor, useValue: redactor },
      { provide: InnerSpans, useValue: new InnerSpans(redactor) },
    ];
    const committer = {
      provide: BatchCommitter,
      inject: [ClientApps, NameRegistry, RequestClaims, BatchLog, InnerSpans],
      useFactory: (
        apps: ClientApps,
        names: NameRegistry,
        claims: RequestClaims,
        log: BatchLog,
        innerSpans: InnerSpans,
      ) => {
        const instances = new InstanceCounts(store, config.collector.spanCountDelayMs);
        const builder = new BatchBuilder(
          names,
          apps,
          new KnownRequests(store),
          instances,
          new IntervalDays(store),
          new RepeatedRecords(store),
          new ApiDocuments(store),
          innerSpans,
        );
        const locks = new MessageLocks(coordinator);
        const exceptions = new TraceExceptions(store, config.collector.spanCountDelayMs);
        return new BatchCommitter(log, builder, instances, exceptions, locks, claims, telemetry);
      },
    };
    const writer = {
      provide: RequestsWriter,
      inject: [NameRegistry, RequestClaims, Redactor, BatchLog],
      useFactory: (names: NameRegistry, claims: RequestClaims, redactor: Redactor, log: BatchLog) =>
        new RequestsWriter(store, names, claims, redactor, log),
    };
    const limitFailures = (provide: InjectionToken, kind: 'client_id' | 'write_token') => ({
      provide,
      inject: [WindowCounter],
      useFactory: (counter: WindowCounter) => new FailedAuthLimiter(counter, config, telemetry, kind),
    });
    return {
      module: CollectorModule,
      imports: [
        {
          module: ResourcesModule,
          global: true,
          providers: resources,
          exports: [Config, ClickHouse, StoreMonitor, Telemetry],
        },
        RateLimitModule,
        HealthModule,
        FallbackModule,
      ],
      controllers: [CollectorController, OtlpController, RequestsController],
      providers: [
        ClientApps,
        WriteTokens,
        RefusedSenders,
        ParseThreads,
        MessageIntake,
        CollectorService,
        OtlpService,
        RequestsService,
        TokenAuthentication,
        ...ingestion,
        committer,
        writer,
        limitFailures(FailedAuthLimiter, 'client_id'),
        limitFailures(TOKEN_FAILURES, 'write_token'),
      ],
    };
  }
}
