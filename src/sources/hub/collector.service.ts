import { Injectable, Logger } from '@nestjs/common';
import type { Request } from 'express';
import { Config } from '../../config/config.js';
import { ApiError, serviceUnavailable } from '../../platform/http/api-error.js';
import { parseRawQuery } from '../../platform/http/raw-query.js';
import { InvalidRecordError } from '../../records/decoding/decoders.js';
import { decodeEnv, decodeUuid, envDecoder } from '../decoding/request-decoders.js';
import { FailedAuthLimiter } from '../../access/rate-limit/failed-auth-limiter.js';
import { parseUuid } from '../../platform/input/uuid.js';
import { type ClientApp, ClientApps } from '../../access/tokens/client-apps.js';
import { RefusedSenders } from '../../access/tokens/refused-senders.js';
import { MessageIntake } from '../intake/message-intake.js';
import type { ParseTask } from '../parsing/body-parser.js';
import { ParseThreads } from '../parsing/parse-threads.js';
import { UnpackLimit } from '../intake/unpack-limit.js';

/** The origin of a message, from its path. */
export interface MessageOrigin {
  clientId: string;
  env: string;
}

/** The response to an accepted message. */
export interface AckResponse {
  status: 'accepted';
  /** Rejected lines of a log file or entries of a list; absent if there are none. */
  rejected?: number;
}

/** Libraries retry often, so one line a minute is enough. */
const UNCERTAIN_LOG_INTERVAL_MS = 60_000;

/**
 * Receives messages of client libraries. Every method resolves once the message is stored, or throws an
 * ApiError.
 */
@Injectable()
export class CollectorService {
  private readonly log = new Logger(CollectorService.name);
  private readonly maxBytes: number;
  private readonly unpackLimit: UnpackLimit;
  private uncertainLoggedAt = -Infinity;

  constructor(
    private readonly apps: ClientApps,
    private readonly intake: MessageIntake,
    private readonly failedAuth: FailedAuthLimiter,
    private readonly refused: RefusedSenders,
    private readonly threads: ParseThreads,
    { collector }: Config,
  ) {
    this.maxBytes = collector.maxBodyBytes;
    this.unpackLimit = new UnpackLimit(collector.maxLogFileBytes, collector.maxUnpackRatio);
  }

  startup(origin: MessageOrigin, request: Request): Promise<AckResponse> {
    return this.receive('startup', origin, request);
  }

  sync(origin: MessageOrigin, request: Request): Promise<AckResponse> {
    return this.receive('sync', origin, request);
  }

  logFile(origin: MessageOrigin, request: Request): Promise<AckResponse> {
    return this.receive('log', origin, request);
  }

  private receive(
    kind: 'startup' | 'sync' | 'log',
    origin: MessageOrigin,
    request: Request,
  ): Promise<AckResponse> {
    return this.intake.countOutcome(kind, async () => {
      const app = await this.requireApp(origin.clientId, request);
      const [message] = await this.intake.receive(app, request, {
        kind,
        // Before it is decoded, the environment may be any text, and the log must not contain that.
        env: envDecoder.decode(origin.env) ?? '-',
        maxBytes: this.maxBytes,
        unpackLimit: this.unpackLimit,
        parse: async (body, work) => {
          try {
            const context = { env: decodeEnv(origin.env, 'env'), now: Date.now() };
            const task: ParseTask =
              kind === 'log' ? { ...context, kind, uuid: readUuid(request) } : { ...context, kind };
            return await this.threads.parse(app.id, task, body, work);
          } catch (error) {
            throw error instanceof InvalidRecordError ? new ApiError(422, error.message) : error;
          }
        },
      });
      const rejected = message?.rejected.count ?? 0;
      return rejected > 0 ? { status: 'accepted', rejected } : { status: 'accepted' };
    });
  }

  /**
   * The app of a client ID. 404 only if the store certainly has no such app, because a library stops
   * permanently at 404.
   */
  private async requireApp(clientId: string, request: Request): Promise<ClientApp> {
    const uuid = parseUuid(clientId);
    const id = typeof uuid === 'string' ? uuid : undefined;
    const app = await this.intake.mapToUnavailable(
      this.failedAuth.authenticate(request.ip, this.apps.lookup, id, async (found) => {
        const uncertain = found ? null : await this.apps.explainUncertainty();
        if (uncertain === null) return found;
        this.reportUncertain(uncertain);
        throw serviceUnavailable();
      }),
    );
    if (!app) {
      this.refused.report(request, 'unknown_client');
      throw new ApiError(404, 'Client ID not found');
    }
    return app;
  }

  private reportUncertain(reason: string): void {
    const now = performance.now();
    if (now - this.uncertainLoggedAt < UNCERTAIN_LOG_INTERVAL_MS) return;
    this.uncertainLoggedAt = now;
    this.log.error(`unknown client IDs get 503, because 404 stops client libraries permanently: ${reason}`);
  }
}

/** @throws InvalidRecordError if the query has no valid UUID */
function readUuid({ originalUrl }: Request): string {
  return decodeUuid(parseRawQuery(originalUrl).get('uuid') ?? '', 'uuid');
}
