import { Module } from '@nestjs/common';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import { AppsModule } from '../apps/apps.module.js';
import { AlertsController } from './alerts.controller.js';
import { AlertsRepository } from './alerts.repository.js';
import { AlertsService } from './alerts.service.js';

@Module({
  imports: [AppsModule],
  controllers: [AlertsController],
  providers: [
    AlertsService,
    {
      provide: AlertsRepository,
      inject: [ClickHouse],
      useFactory: (store: ClickHouse) => new AlertsRepository(store),
    },
  ],
})
export class AlertsModule {}
