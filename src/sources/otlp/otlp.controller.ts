import { create } from '@bufbuild/protobuf';
import { Controller, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { HttpException } from '@nestjs/common';
import type { Request, Response } from 'express';
import { ApiExceptionFilter } from '../../platform/http/exception.filter.js';
import { OTLP_MEDIA_TYPES, encode, findEncoding } from './encoding.js';
import { StatusSchema } from './generated/google/rpc/status_pb.js';
import type { Signal } from './items.js';
import { OtlpService } from './otlp.service.js';
import { encodeOutcome } from './outcome.js';

/** Interval of exports in seconds, for version 1 of the client libraries; other senders ignore it. */
const EXPORT_INTERVAL = { 'Apitally-Export-Interval': '15' };

/** OTLP over HTTP, the protocol of OpenTelemetry SDKs. */
@Controller('v1')
@UseFilters(new ApiExceptionFilter(writeStatus))
export class OtlpController {
  constructor(private readonly service: OtlpService) {}

  @Post('traces')
  @HttpCode(200)
  traces(@Req() request: Request, @Res({ passthrough: true }) response: Response): Promise<Buffer> {
    return this.export('traces', request, response);
  }

  @Post('metrics')
  @HttpCode(200)
  metrics(@Req() request: Request, @Res({ passthrough: true }) response: Response): Promise<Buffer> {
    return this.export('metrics', request, response);
  }

  @Post('logs')
  @HttpCode(200)
  logs(@Req() request: Request, @Res({ passthrough: true }) response: Response): Promise<Buffer> {
    return this.export('logs', request, response);
  }

  private async export(signal: Signal, request: Request, response: Response): Promise<Buffer> {
    const outcome = await this.service.export(signal, request);
    // With set() Express would add a charset.
    response.set(EXPORT_INTERVAL).setHeader('Content-Type', OTLP_MEDIA_TYPES[outcome.encoding]);
    return encodeOutcome(signal, outcome);
  }
}

/** Writes an error as a `google.rpc.Status` in the encoding of the request; in JSON if that is unknown. */
function writeStatus(response: Response, error: HttpException): void {
  const encoding = findEncoding(response.req) ?? 'json';
  const status = create(StatusSchema, { message: getDetail(error) });
  response.setHeader('Content-Type', OTLP_MEDIA_TYPES[encoding]);
  response.send(encode(StatusSchema, status, encoding));
}

function getDetail(error: HttpException): string {
  const body = error.getResponse();
  return typeof body === 'object' && 'detail' in body ? String(body.detail) : error.message;
}
