import { Module } from '@nestjs/common';
import { AppScopedStore } from './app-scoped-store.js';
import { AppsController } from './apps.controller.js';
import { AppsRepository } from './apps.repository.js';
import { AppsService } from './apps.service.js';

@Module({
  controllers: [AppsController],
  providers: [AppsService, AppsRepository, AppScopedStore],
  exports: [AppsService, AppScopedStore],
})
export class AppsModule {}
