import { Module } from '@nestjs/common';
import { AppsModule } from '../apps/apps.module.js';
import { InstancesController } from './instances.controller.js';
import { InstancesRepository } from './instances.repository.js';
import { InstancesService } from './instances.service.js';

@Module({
  imports: [AppsModule],
  controllers: [InstancesController],
  providers: [InstancesService, InstancesRepository],
})
export class InstancesModule {}
