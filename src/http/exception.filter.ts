import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import type { Response } from 'express';
import {
  DiskFull,
  QueryTimedOut,
  StoreUnavailable,
  StoredDataDamaged,
} from '../clickhouse/clickhouse.errors.js';
import { ClientDisconnected } from './abort-signal.middleware.js';
import {
  ApiError,
  internalServerError,
  methodNotAllowed,
  notFound,
  queryTimedOut,
  serviceUnavailable,
} from './api-error.js';

/** Maps every error to the format of docs/contract.md#errors, without internal details. */
@Catch()
export class ApiExceptionFilter implements ExceptionFilter {
  private readonly log = new Logger(ApiExceptionFilter.name);

  /** @param write sends the body of a response whose status and headers are set; JSON by default */
  constructor(
    private readonly write = (response: Response, mapped: HttpException): void => {
      response.json(mapped.getResponse());
    },
  ) {}

  catch(error: unknown, host: ArgumentsHost) {
    const response = host.switchToHttp().getResponse<Response>();
    if (error instanceof ClientDisconnected) return;
    const mapped = this.mapError(error);
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (mapped instanceof ApiError) response.set(mapped.headers);
    this.write(response.status(mapped.getStatus()), mapped);
  }

  private mapError(error: unknown): HttpException {
    if (error instanceof ApiError) return error;
    if (error instanceof QueryTimedOut) return this.logAndMap(error, queryTimedOut());
    if (error instanceof StoredDataDamaged || error instanceof DiskFull)
      return this.logAndMap(error, serviceUnavailable(), 'error');
    if (error instanceof StoreUnavailable) return this.logAndMap(error, serviceUnavailable());
    if (error instanceof HttpException) return toApiError(error);
    this.log.error(error instanceof Error ? error.stack : error);
    return internalServerError();
  }

  private logAndMap(error: Error, mapped: ApiError, level: 'warn' | 'error' = 'warn') {
    this.log[level](error.message);
    return mapped;
  }
}

/** Errors of the framework as the contract words them. */
function toApiError(error: HttpException): HttpException {
  const body = error.getResponse();
  if (typeof body === 'object' && 'detail' in body) return error;
  const status = error.getStatus();
  if (status === 404) return notFound();
  if (status === 405) return methodNotAllowed();
  return status < 500 ? new ApiError(status, 'Bad Request') : internalServerError();
}
