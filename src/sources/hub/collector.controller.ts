import { All, Controller, HttpCode, Param, Post, Req } from '@nestjs/common';
import type { Request } from 'express';
import { ApiError } from '../../platform/http/api-error.js';
import { type AckResponse, CollectorService, type MessageOrigin } from './collector.service.js';

const MESSAGES = 'v2/:client_id/:env';

/** Version 2 of the hub protocol, which the open-source Apitally client libraries use. */
@Controller()
export class CollectorController {
  constructor(private readonly service: CollectorService) {}

  @Post(`${MESSAGES}/startup`)
  @HttpCode(202)
  startup(@Param() params: Record<string, string>, @Req() request: Request): Promise<AckResponse> {
    return this.service.startup(toMessageOrigin(params), request);
  }

  @Post(`${MESSAGES}/sync`)
  @HttpCode(202)
  sync(@Param() params: Record<string, string>, @Req() request: Request): Promise<AckResponse> {
    return this.service.sync(toMessageOrigin(params), request);
  }

  @Post(`${MESSAGES}/log`)
  @HttpCode(202)
  log(@Param() params: Record<string, string>, @Req() request: Request): Promise<AckResponse> {
    return this.service.logFile(toMessageOrigin(params), request);
  }

  /** Never 404 below a client ID: a library would stop sending, as for an unknown client ID. */
  @All(`${MESSAGES}/*rest`)
  unknown(@Req() { method }: Request): never {
    if (method === 'POST') throw new ApiError(422, 'Unknown kind of message');
    throw new ApiError(405, 'Method Not Allowed', { Allow: 'POST' });
  }
}

function toMessageOrigin({ client_id = '', env = '' }: Record<string, string>): MessageOrigin {
  return { clientId: client_id, env };
}
