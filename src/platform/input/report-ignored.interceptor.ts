import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { Request, Response } from 'express';
import { parseRawQuery } from '../http/raw-query.js';
import { IGNORED, describeIgnored } from './ignored.js';

/** Names parameters that were sent to an operation without any. `@Input()` does it for the others. */
export class ReportIgnored implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler) {
    const http = context.switchToHttp();
    const ignored = describeIgnored([], parseRawQuery(http.getRequest<Request>().originalUrl).keys());
    if (ignored !== undefined) http.getResponse<Response>().setHeader(IGNORED, ignored);
    return next.handle();
  }
}
