import { Module } from '@nestjs/common';
import { AppsModule } from '../apps/apps.module.js';
import { EndpointsController } from './endpoints.controller.js';
import { EndpointsRepository } from './endpoints.repository.js';
import { EndpointsService } from './endpoints.service.js';

@Module({
  imports: [AppsModule],
  controllers: [EndpointsController],
  providers: [EndpointsService, EndpointsRepository],
  exports: [EndpointsService, EndpointsRepository],
})
export class EndpointsModule {}
