import { Module } from '@nestjs/common';
import { AppsModule } from '../apps/apps.module.js';
import { LogDensity } from './log-density.js';
import { RequestLogsController } from './request-logs.controller.js';
import { RequestTraceRepository } from './request-trace.repository.js';
import { RequestLogsRepository } from './request-logs.repository.js';
import { RequestLogsService } from './request-logs.service.js';

@Module({
  imports: [AppsModule],
  controllers: [RequestLogsController],
  providers: [RequestLogsService, RequestLogsRepository, RequestTraceRepository, LogDensity],
})
export class RequestLogsModule {}
