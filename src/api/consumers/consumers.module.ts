import { Module } from '@nestjs/common';
import { AppsModule } from '../apps/apps.module.js';
import { ConsumersController } from './consumers.controller.js';
import { ConsumersRepository } from './consumers.repository.js';
import { ConsumersService } from './consumers.service.js';

@Module({
  imports: [AppsModule],
  controllers: [ConsumersController],
  providers: [ConsumersService, ConsumersRepository],
  exports: [ConsumersRepository, ConsumersService],
})
export class ConsumersModule {}
