import { Module } from '@nestjs/common';
import { AppsModule } from '../apps/apps.module.js';
import { ExportsModule } from '../../queries/files/exports.module.js';
import { ReadAudit } from '../../access/read-audit.js';
import { RateLimitModule } from '../../access/rate-limit/rate-limit.module.js';
import { TracesController } from './traces.controller.js';
import { TracesRepository } from './traces.repository.js';
import { TracesService } from './traces.service.js';

@Module({
  imports: [AppsModule, ExportsModule, RateLimitModule],
  controllers: [TracesController],
  providers: [TracesService, TracesRepository, ReadAudit],
})
export class TracesModule {}
