import { Module } from '@nestjs/common';
import { AppMetricsModule } from '../app-metrics/app-metrics.module.js';
import { ReleasesModule } from '../releases/releases.module.js';
import { ChangesController } from './changes.controller.js';
import { ChangesService } from './changes.service.js';

@Module({
  imports: [AppMetricsModule, ReleasesModule],
  controllers: [ChangesController],
  providers: [ChangesService],
  exports: [ChangesService],
})
export class ChangesModule {}
