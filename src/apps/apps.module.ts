import { Module } from '@nestjs/common';
import { AppStore } from './app-scoped-store.js';
import { AppsController } from './apps.controller.js';
import { AppsRepository } from './apps.repository.js';
import { AppsService } from './apps.service.js';

@Module({
  controllers: [AppsController],
  providers: [AppsService, AppsRepository, AppStore],
  exports: [AppsService, AppStore],
})
export class AppsModule {}
