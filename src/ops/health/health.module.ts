import { Module } from '@nestjs/common';
import { RateLimitModule } from '../../access/rate-limit/rate-limit.module.js';
import { HealthController } from './health.controller.js';

@Module({ imports: [RateLimitModule], controllers: [HealthController] })
export class HealthModule {}
