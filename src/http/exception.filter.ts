import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import { STATUS_CODES } from 'node:http';
import type { Request, Response } from 'express';
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
import { ValidationException } from '../validation/issues.js';

/** Media type of problem details (RFC 9457). */
export const PROBLEM = 'application/problem+json';
const INVALID_REQUEST = 'The request is invalid: `errors` lists what is wrong';

/** Maps every error to the format of docs/contract.md#errors, without internal details. */
@Catch()
export class ApiExceptionFilter implements ExceptionFilter {
  private readonly log = new Logger(ApiExceptionFilter.name);

  catch(error: unknown, host: ArgumentsHost) {
    const http = host.switchToHttp();
    const response = http.getResponse<Response>();
    if (error instanceof ClientDisconnected) return;
    const mapped = this.mapError(error);
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (mapped instanceof ApiError) response.set(mapped.headers);
    response.status(mapped.getStatus()).vary('Accept');
    if (prefersProblem(http.getRequest<Request>()))
      response.set('Content-Type', PROBLEM).send(Buffer.from(JSON.stringify(toProblem(mapped))));
    else response.json(mapped.getResponse());
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

function prefersProblem(request: Request): boolean {
  return request.accepts(['application/json', PROBLEM]) === PROBLEM;
}

/** Problem details; the issues of a 422 are an extension member. */
function toProblem(error: HttpException): object {
  const status = error.getStatus();
  const { detail } = error.getResponse() as { detail: unknown };
  return {
    type: 'about:blank',
    title: STATUS_CODES[status],
    status,
    ...(error instanceof ValidationException
      ? { detail: INVALID_REQUEST, errors: error.issues }
      : { detail }),
  };
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
