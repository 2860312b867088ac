import { Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { Request } from 'express';
import { type ImportResult, RequestsService } from './requests.service.js';

/** Takes requests as lines, in the formats of `request-analytics import`, from log shippers and scripts. */
@Controller('v1/requests')
export class RequestsController {
  constructor(private readonly service: RequestsService) {}

  @Post()
  @HttpCode(200)
  add(@Req() request: Request): Promise<ImportResult> {
    return this.service.import(request);
  }
}
