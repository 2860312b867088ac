import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { ApiError } from '../../platform/http/api-error.js';
import { usesGzip } from '../../platform/http/request-body.js';
import { isTooLarge } from '../decoding/gunzip.js';
import { InvalidRecordError } from '../../records/decoding/decoders.js';
import { MessageIntake } from '../intake/message-intake.js';
import type { Message } from '../../write/batches/message.js';
import { TokenAuthentication } from '../intake/token-authentication.js';
import { UnpackLimit } from '../intake/unpack-limit.js';
import type { SenderRequest } from '../intake/sender-request.js';
import { OTLP_MEDIA_TYPES, findEncoding } from './encoding.js';
import type { Signal } from './items.js';
import { toEnv } from './origin.js';
import type { Outcome } from './outcome.js';
import { ParseThreads } from '../parsing/parse-threads.js';

const gunzipAsync = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip);

/** Receives exports of OpenTelemetry SDKs. Resolves once everything is stored, or throws an ApiError. */
@Injectable()
export class OtlpService {
  private readonly maxBytes: number;
  private readonly maxSpanWeight: number;
  private readonly unpackLimit: UnpackLimit;

  constructor(
    private readonly authentication: TokenAuthentication,
    private readonly intake: MessageIntake,
    private readonly threads: ParseThreads,
    { collector }: Config,
  ) {
    this.maxBytes = collector.maxOtlpBytes;
    this.maxSpanWeight = collector.maxSpanWeight;
    this.unpackLimit = new UnpackLimit(this.maxBytes, collector.maxUnpackRatio);
  }

  export(signal: Signal, request: SenderRequest): Promise<Outcome> {
    return this.intake.countOutcome(signal, async () => {
      const app = await this.authentication.requireApp(request);
      const encoding = findEncoding(request);
      if (!encoding)
        throw new ApiError(415, `Content-Type must be ${Object.values(OTLP_MEDIA_TYPES).join(' or ')}`);
      // Refuses other encodings before the body is read.
      usesGzip(request);
      const env = toEnv(String(request.headers['apitally-env'] ?? ''));
      let rejected = 0;
      const messages = await this.intake.receive(app, request, {
        kind: signal,
        env: env ?? '-',
        maxBytes: this.maxBytes,
        unpackLimit: this.unpackLimit,
        unpack: (body) => (usesGzip(request) ? decompress(body, this.unpackLimit) : body),
        parse: async (bytes, work, reserve) => {
          // What is decoded at once is small; the records need about as many bytes as the body.
          reserve(2 * bytes.length);
          const { graphql } = app;
          const { maxSpanWeight } = this;
          const task = { kind: signal, encoding, env, now: Date.now(), graphql, maxSpanWeight };
          const parsed = await parseOr400(() => this.threads.parse(app.id, task, bytes, work));
          // Summed before names above an app's limits are added: their spans and points are stored.
          rejected = parsed.reduce((sum, message) => sum + message.rejected.count, 0);
          return parsed;
        },
      });
      const find = (which: 'reason' | 'warning') =>
        messages.find((message) => message.rejected[which] !== undefined)?.rejected[which];
      return { encoding, rejected, message: find('reason') ?? find('warning') ?? '' };
    });
  }
}

async function decompress(body: Buffer, limit: UnpackLimit): Promise<Buffer> {
  if (body.length === 0) return body;
  try {
    return await gunzipAsync(body, { maxOutputLength: limit.find(body.length) });
  } catch (error) {
    if (isTooLarge(error)) throw limit.explain(body.length);
    throw new ApiError(400, 'body: must be gzip, as Content-Encoding says');
  }
}

async function parseOr400(parse: () => Promise<readonly Message[]>): Promise<readonly Message[]> {
  try {
    return await parse();
  } catch (error) {
    throw error instanceof InvalidRecordError ? new ApiError(400, error.message) : error;
  }
}
