import { create } from '@bufbuild/protobuf';
import { Controller, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import type { HttpException } from '@nestjs/common';
import type { Request, Response } from 'express';
import { ApiExceptionFilter } from '../../platform/http/exception.filter.js';
import { OTLP_MEDIA_TYPES, encode, findEncoding } from './encoding.js';
import { StatusSchema } from './generated/google/rpc/status_pb.js';
import { ExportLogsServiceResponseSchema } from './generated/opentelemetry/proto/collector/logs/v1/logs_service_pb.js';
import { ExportMetricsServiceResponseSchema } from './generated/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.js';
import { ExportTraceServiceResponseSchema } from './generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.js';
import { OtlpService, type Outcome } from './otlp.service.js';

/** Interval of exports in seconds, for version 1 of the client libraries; other senders ignore it. */
const EXPORT_INTERVAL = { 'Apitally-Export-Interval': '15' };

/** OTLP over HTTP, the protocol of OpenTelemetry SDKs. */
@Controller('v1')
@UseFilters(new ApiExceptionFilter(writeStatus))
export class OtlpController {
  constructor(private readonly service: OtlpService) {}

  @Post('traces')
  @HttpCode(200)
  async traces(@Req() request: Request, @Res({ passthrough: true }) response: Response): Promise<Buffer> {
    const outcome = await this.service.export('traces', request);
    const partialSuccess = toPartialSuccess(outcome, (rejected) => ({ rejectedSpans: rejected }));
    const message = create(ExportTraceServiceResponseSchema, partialSuccess);
    return reply(response, outcome, encode(ExportTraceServiceResponseSchema, message, outcome.encoding));
  }

  @Post('metrics')
  @HttpCode(200)
  async metrics(@Req() request: Request, @Res({ passthrough: true }) response: Response): Promise<Buffer> {
    const outcome = await this.service.export('metrics', request);
    const partialSuccess = toPartialSuccess(outcome, (rejected) => ({ rejectedDataPoints: rejected }));
    const message = create(ExportMetricsServiceResponseSchema, partialSuccess);
    return reply(response, outcome, encode(ExportMetricsServiceResponseSchema, message, outcome.encoding));
  }

  @Post('logs')
  @HttpCode(200)
  async logs(@Req() request: Request, @Res({ passthrough: true }) response: Response): Promise<Buffer> {
    const outcome = await this.service.export('logs', request);
    const partialSuccess = toPartialSuccess(outcome, (rejected) => ({ rejectedLogRecords: rejected }));
    const message = create(ExportLogsServiceResponseSchema, partialSuccess);
    return reply(response, outcome, encode(ExportLogsServiceResponseSchema, message, outcome.encoding));
  }
}

/** The partial success; unset if everything is accepted without a warning. */
function toPartialSuccess<Count extends object>(
  { rejected, message }: Outcome,
  toCount: (rejected: bigint) => Count,
): { partialSuccess?: Count & { errorMessage: string } } {
  if (rejected === 0 && message === '') return {};
  return { partialSuccess: { ...toCount(BigInt(rejected)), errorMessage: message } };
}

function reply(response: Response, { encoding }: Outcome, body: Buffer): Buffer {
  // With set() Express would add a charset.
  response.set(EXPORT_INTERVAL).setHeader('Content-Type', OTLP_MEDIA_TYPES[encoding]);
  return body;
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
