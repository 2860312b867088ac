import { Injectable, Logger } from '@nestjs/common';
import type { Request } from 'express';
import { Config } from '../config/config.js';
import { ApiError, serviceUnavailable } from '../http/api-error.js';
import { parseRawQuery } from '../http/raw-query.js';
import { payloadTooLarge } from '../http/request-body.js';
import { InvalidRecordError } from '../ingestion/formats/decoders.js';
import { decodeEnv, decodeUuid, envDecoder } from '../ingestion/formats/request-decoders.js';
import { FailedAuthLimiter } from '../rate-limit/failed-auth-limiter.js';
import { parseUuid } from '../validation/uuid.js';
import { type ClientApp, ClientApps } from './client-apps.js';
import { MessageIntake } from './message-intake.js';
import type { Message, MessageContext } from './message.js';
import { LogFileTooLarge, parseLogFile } from './protocol/log-file.js';
import { parseStartup } from './protocol/startup.parser.js';
import { parseSync } from './protocol/sync.parser.js';

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

type Parse = (body: Buffer, context: MessageContext) => Message | Promise<Message>;

/** Receives messages of client libraries. Every method resolves once the message is stored, or throws an ApiError. */
@Injectable()
export class CollectorService {
  private readonly log = new Logger(CollectorService.name);
  private readonly limits: Config['collector'];
  private uncertainLoggedAt = -Infinity;

  constructor(
    private readonly apps: ClientApps,
    private readonly intake: MessageIntake,
    private readonly failedAuth: FailedAuthLimiter,
    { collector }: Config,
  ) {
    this.limits = collector;
  }

  startup(origin: MessageOrigin, request: Request): Promise<AckResponse> {
    return this.withMetrics('startup', origin, request, parseStartup);
  }

  sync(origin: MessageOrigin, request: Request): Promise<AckResponse> {
    return this.withMetrics('sync', origin, request, parseSync);
  }

  logFile(origin: MessageOrigin, request: Request): Promise<AckResponse> {
    return this.withMetrics('log', origin, request, (body, context) => {
      const uuid = decodeUuid(parseRawQuery(request.originalUrl).get('uuid') ?? '', 'uuid');
      return parseLogFile(body, uuid, context, this.limits.maxLogFileBytes);
    });
  }

  private withMetrics(
    kind: string,
    origin: MessageOrigin,
    request: Request,
    parse: Parse,
  ): Promise<AckResponse> {
    return this.intake.countOutcome(kind, async () => {
      const app = await this.requireApp(origin.clientId, request.ip);
      const [message] = await this.intake.receive(app, request, {
        kind,
        // Before it is decoded, it may be any text, which the log must not contain.
        env: envDecoder.decode(origin.env) ?? '-',
        maxBytes: this.limits.maxBodyBytes,
        maxUnpackedBytes: this.limits.maxLogFileBytes,
        parse: async (body) => {
          try {
            return [await parse(body, { env: decodeEnv(origin.env, 'env'), now: Date.now() })];
          } catch (error) {
            if (error instanceof LogFileTooLarge) throw payloadTooLarge();
            throw error instanceof InvalidRecordError ? new ApiError(422, error.message) : error;
          }
        },
      });
      const rejected = message?.rejected.count ?? 0;
      return rejected > 0 ? { status: 'accepted', rejected } : { status: 'accepted' };
    });
  }

  /**
   * The app of a client ID. 404 only if the store certainly has no such app, because a library stops permanently at 404.
   */
  private async requireApp(clientId: string, address: string | undefined): Promise<ClientApp> {
    const uuid = parseUuid(clientId);
    const id = typeof uuid === 'string' ? uuid : undefined;
    const app = await this.intake.asUnavailable(
      this.failedAuth.authenticate(address, this.apps.lookup, id, async (found) => {
        const uncertain = found ? null : await this.apps.whyUncertain();
        if (uncertain === null) return found;
        this.reportUncertain(uncertain);
        throw serviceUnavailable();
      }),
    );
    if (!app) throw new ApiError(404, 'Client ID not found');
    return app;
  }

  private reportUncertain(why: string): void {
    const now = performance.now();
    if (now - this.uncertainLoggedAt < UNCERTAIN_LOG_INTERVAL_MS) return;
    this.uncertainLoggedAt = now;
    this.log.error(`unknown client IDs get 503, because 404 stops client libraries permanently: ${why}`);
  }
}
