import { Module } from '@nestjs/common';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import { AppScopedStore } from './app-scoped-store.js';
import { AppsController } from './apps.controller.js';
import { AppsRepository } from './apps.repository.js';
import { AppsService } from './apps.service.js';
import { ConsumerCoverage } from './consumer-coverage.js';
import { RefusedSendersController } from './refused-senders.controller.js';

@Module({
  controllers: [AppsController, RefusedSendersController],
  providers: [
    AppsService,
    {
      provide: AppsRepository,
      inject: [ClickHouse],
      useFactory: (store: ClickHouse) => new AppsRepository(store),
    },
    AppScopedStore,
    ConsumerCoverage,
  ],
  exports: [AppsService, AppScopedStore, ConsumerCoverage],
})
export class AppsModule {}
