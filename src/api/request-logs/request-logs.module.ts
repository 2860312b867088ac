import { Module } from '@nestjs/common';
import { AppsModule } from '../apps/apps.module.js';
import { ExportsModule } from '../../queries/files/exports.module.js';
import { ReadAudit } from '../../access/read-audit.js';
import { ExportController } from './export/export.controller.js';
import { ExportRepository } from './export/export.repository.js';
import { ExportService } from './export/export.service.js';
import { FacetsController } from './facets/facets.controller.js';
import { FacetsRepository } from './facets/facets.repository.js';
import { FacetsService } from './facets/facets.service.js';
import { LogRateEstimator } from './log-rate-estimator.js';
import { RequestLogsController } from './request-logs.controller.js';
import { RequestLogsRepository } from './request-logs.repository.js';
import { RequestLogsService } from './request-logs.service.js';
import { RequestTraceRepository } from './request-trace.repository.js';

@Module({
  imports: [AppsModule, ExportsModule],
  // Before `:request_uuid`, which matches any name.
  controllers: [FacetsController, RequestLogsController, ExportController],
  providers: [
    RequestLogsService,
    RequestLogsRepository,
    RequestTraceRepository,
    LogRateEstimator,
    ExportService,
    ExportRepository,
    FacetsService,
    FacetsRepository,
    ReadAudit,
  ],
  exports: [RequestLogsService, ExportService],
})
export class RequestLogsModule {}
