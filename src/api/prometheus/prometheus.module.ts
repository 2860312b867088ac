import { Module } from '@nestjs/common';
import { AppsModule } from '../apps/apps.module.js';
import { PrometheusController } from './prometheus.controller.js';
import { PrometheusRepository } from './prometheus.repository.js';
import { PrometheusService } from './prometheus.service.js';

@Module({
  imports: [AppsModule],
  controllers: [PrometheusController],
  providers: [PrometheusService, PrometheusRepository],
})
export class PrometheusModule {}
