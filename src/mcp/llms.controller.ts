import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../platform/http/public.decorator.js';
import { Config } from '../config/config.js';
import { describeForAgents } from './llms-text.js';

/**
 * Serves `llms.txt`, which describes this service to language models, for programs that look for it at the
 * root.
 */
@ApiExcludeController()
@Controller('llms.txt')
export class LlmsController {
  constructor(private readonly config: Config) {}

  @Get()
  @Public()
  @Header('Content-Type', 'text/markdown; charset=utf-8')
  get(): string {
    return describeForAgents(this.config);
  }
}
