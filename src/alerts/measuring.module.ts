import { type DynamicModule, type LoggerService, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppMetricsModule } from '../api/app-metrics/app-metrics.module.js';
import { AppMetricsService } from '../api/app-metrics/app-metrics.service.js';
import { AppsModule } from '../api/apps/apps.module.js';
import { AppsService } from '../api/apps/apps.service.js';
import { ChangesModule } from '../api/changes/changes.module.js';
import { ChangesService } from '../api/changes/changes.service.js';
import { ConsumersModule } from '../api/consumers/consumers.module.js';
import { ConsumersService } from '../api/consumers/consumers.service.js';
import { ErrorsModule } from '../api/errors/errors.module.js';
import { ErrorsService } from '../api/errors/errors.service.js';
import { Config } from '../config/config.js';
import { PaginationModule } from '../platform/paging/pagination.module.js';
import { ClickHouse } from '../store/client/clickhouse.client.js';
import { Telemetry } from '../telemetry/telemetry.js';
import type { MeasuringServices } from './measure.js';

interface Resources {
  readonly config: Config;
  readonly store: ClickHouse;
  readonly telemetry: Telemetry;
}

/** The services of the API without its routes, for a process that only collects. */
@Module({})
class MeasuringModule {
  static on({ config, store, telemetry }: Resources): DynamicModule {
    return {
      module: MeasuringModule,
      global: true,
      imports: [PaginationModule, AppsModule, AppMetricsModule, ErrorsModule, ChangesModule, ConsumersModule],
      providers: [
        { provide: Config, useValue: config },
        { provide: ClickHouse, useValue: store },
        { provide: Telemetry, useValue: telemetry },
      ],
      exports: [Config, ClickHouse, Telemetry],
    };
  }
}

/** @param logger of the process */
export async function createMeasuringServices(
  resources: Resources,
  logger: LoggerService,
): Promise<MeasuringServices & { close: () => Promise<void> }> {
  const context = await NestFactory.createApplicationContext(MeasuringModule.on(resources), {
    abortOnError: false,
    logger: false,
  });
  // A context without a logger takes it from the whole process.
  context.useLogger(logger);
  return {
    apps: context.get(AppsService, { strict: false }),
    metrics: context.get(AppMetricsService, { strict: false }),
    errors: context.get(ErrorsService, { strict: false }),
    changes: context.get(ChangesService, { strict: false }),
    consumers: context.get(ConsumersService, { strict: false }),
    close: () => context.close(),
  };
}
