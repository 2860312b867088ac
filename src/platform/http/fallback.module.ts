import { Module } from '@nestjs/common';
import { FallbackController } from './fallback.controller.js';

/** Imported last, so that its routes come after all others. */
@Module({ controllers: [FallbackController] })
export class FallbackModule {}
