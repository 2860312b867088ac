import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import { STATUS_CODES } from 'node:http';
import type { Response } from 'express';
import {
  DiskFull,
  QueryTimedOut,
  StoreUnavailable,
  StoredDataDamaged,
} from '../../store/client/clickhouse.errors.js';
import { findAcceptedType } from './accepted-type.js';
import { ClientDisconnected } from './abort-signal.middleware.js';
import {
  ApiError,
  internalServerError,
  methodNotAllowed,
  notFound,
  queryTimedOut,
  serviceUnavailable,
} from './api-error.js';
import { ValidationException } from '../input/validation.exception.js';

/** Media type of problem details (RFC 9457). */
export const PROBLEM = 'application/problem+json';
const INVALID_REQUEST = 'The request is invalid: `errors` lists what is wrong';

/** Maps every error to the format of docs/contract.md#errors, without internal details. */
@Catch()
export class ApiExceptionFilter implements ExceptionFilter {
  private readonly log = new Logger(ApiExceptionFilter.name);

  /**
   * @param write sends the body of a response whose status and headers are set; JSON or problem details by
   * default
   */
  constructor(private readonly write = writeJson) {}

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

  /** The contract's error for a thrown error. Errors of the store and bugs are logged. */
  mapError(error: unknown): HttpException {
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

function writeJson(response: Response, error: HttpException): void {
  response.vary('Accept');
  if (findAcceptedType(response.req, ['application/json', PROBLEM]) === PROBLEM)
    response.set('Content-Type', PROBLEM).send(Buffer.from(JSON.stringify(toProblem(error))));
  else response.json(error.getResponse());
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

/** Errors of the framework in the words of the contract. */
function toApiError(error: HttpException): HttpException {
  const body = error.getResponse();
  if (typeof body === 'object' && 'detail' in body) return error;
  const status = error.getStatus();
  if (status === 404) return notFound();
  if (status === 405) return methodNotAllowed();
  return status < 500 ? new ApiError(status, 'Bad Request') : internalServerError();
}
