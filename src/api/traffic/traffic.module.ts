import { Module } from '@nestjs/common';
import { AppsModule } from '../apps/apps.module.js';
import { TrafficController } from './traffic.controller.js';
import { TrafficRepository } from './traffic.repository.js';
import { TrafficService } from './traffic.service.js';

@Module({
  imports: [AppsModule],
  controllers: [TrafficController],
  providers: [TrafficService, TrafficRepository],
})
export class TrafficModule {}
