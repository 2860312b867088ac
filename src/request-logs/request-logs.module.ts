import { Module } from '@nestjs/common';
import { AppsModule } from '../apps/apps.module.js';
import { LogRateEstimator } from './log-rate-estimator.js';
import { RequestLogsController } from './request-logs.controller.js';
import { RequestLogsRepository } from './request-logs.repository.js';
import { RequestLogsService } from './request-logs.service.js';

@Module({
  imports: [AppsModule],
  controllers: [RequestLogsController],
  providers: [RequestLogsService, RequestLogsRepository, LogRateEstimator],
})
export class RequestLogsModule {}
