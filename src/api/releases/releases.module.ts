import { Module } from '@nestjs/common';
import { AppsModule } from '../apps/apps.module.js';
import { ReleasesController } from './releases.controller.js';
import { ReleasesRepository } from './releases.repository.js';
import { ReleasesService } from './releases.service.js';

@Module({
  imports: [AppsModule],
  controllers: [ReleasesController],
  providers: [ReleasesService, ReleasesRepository],
  exports: [ReleasesService],
})
export class ReleasesModule {}
