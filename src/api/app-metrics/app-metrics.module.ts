import { Module } from '@nestjs/common';
import { AppsModule } from '../apps/apps.module.js';
import { ReleasesModule } from '../releases/releases.module.js';
import { ExportsModule } from '../../queries/files/exports.module.js';
import { AppMetricsController } from './app-metrics.controller.js';
import { AppMetricsRepository } from './app-metrics.repository.js';
import { AppMetricsService } from './app-metrics.service.js';

@Module({
  imports: [AppsModule, ReleasesModule, ExportsModule],
  controllers: [AppMetricsController],
  providers: [AppMetricsService, AppMetricsRepository],
  exports: [AppMetricsService],
})
export class AppMetricsModule {}
