import { Module } from '@nestjs/common';
import { AppsController } from './apps.controller.js';
import { AppsRepository } from './apps.repository.js';
import { AppsService } from './apps.service.js';

@Module({ controllers: [AppsController], providers: [AppsService, AppsRepository], exports: [AppsService] })
export class AppsModule {}
