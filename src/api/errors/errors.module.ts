import { Module } from '@nestjs/common';
import { AppsModule } from '../apps/apps.module.js';
import { ErrorsController } from './errors.controller.js';
import { ErrorsRepository } from './errors.repository.js';
import { ErrorsService } from './errors.service.js';

@Module({
  imports: [AppsModule],
  controllers: [ErrorsController],
  providers: [ErrorsService, ErrorsRepository],
  exports: [ErrorsService],
})
export class ErrorsModule {}
