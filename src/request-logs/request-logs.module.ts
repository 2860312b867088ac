import { Module } from '@nestjs/common';
import { AppsModule } from '../apps/apps.module.js';
import { ExportController } from './export/export.controller.js';
import { ExportRepository } from './export/export.repository.js';
import { ExportService } from './export/export.service.js';
import { LogDensity } from './log-density.js';
import { RequestLogsController } from './request-logs.controller.js';
import { RequestTraceRepository } from './request-trace.repository.js';
import { RequestLogsRepository } from './request-logs.repository.js';
import { RequestLogsService } from './request-logs.service.js';

@Module({
  imports: [AppsModule],
  controllers: [RequestLogsController, ExportController],
  providers: [
    RequestLogsService,
    RequestLogsRepository,
    RequestTraceRepository,
    LogDensity,
    ExportService,
    ExportRepository,
  ],
})
export class RequestLogsModule {}
