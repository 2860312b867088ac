import { Injectable, Logger } from '@nestjs/common';
import type { Request } from 'express';
import { ApiError, rateLimitExceeded, serviceUnavailable } from '../common/http/api-error.js';
import { rawQuery } from '../common/http/raw-query.js';
import { parseUuid } from '../common/validation/uuid.js';
import { Config } from '../config/config.js';
import { Rejection, type Check } from '../ingestion/checks.js';
import { asEnv, asUuid } from '../ingestion/request-checks.js';
import { AuthFailures } from '../rate-limit/auth-failures.js';
import { type ClientApp, ClientApps } from './client-apps.js';
import { MessageIntake } from './message-intake.js';
import type { Message, MessageContext } from './message.js';
import { LogFileTooLarge, parseLogFile } from './protocol/log-file.js';
import { parseStartup } from './protocol/startup.parser.js';
import { parseSync } from './protocol/sync.parser.js';
import { payloadTooLarge } from './request-body.js';

/** Where a message comes from, as its path says. */
export interface Source {
  clientId: string;
  env: string;
}

/** The answer to a message that was taken. */
export interface Receipt {
  status: 'accepted';
  /** Lines of a log file, or entries of a list, that were rejected; left out when there are none. */
  rejected?: number;
}

/** Every library asks again and again: a line a minute says as much. */
const UNCERTAIN_LOG_INTERVAL_MS = 60_000;

type Parse = (body: Buffer, context: MessageContext) => Message | Promise<Message>;

const clientIdUnknown = () => new ApiError(404, 'Client ID not found');
const unprocessable = (reason: string) => new ApiError(422, reason);

/** Takes the messages of client libraries. Every method resolves once the store has the message, or throws an ApiError. */
@Injectable()
export class CollectorService {
  private readonly log = new Logger(CollectorService.name);
  private readonly limits: Config['collector'];
  private uncertainLoggedAt = -Infinity;

  constructor(
    private readonly apps: ClientApps,
    private readonly intake: MessageIntake,
    private readonly failures: AuthFailures,
    { collector }: Config,
  ) {
    this.limits = collector;
  }

  startup(source: Source, request: Request): Promise<Receipt> {
    return this.counted('startup', source, request, (body, context) => parseStartup(body, context));
  }

  sync(source: Source, request: Request): Promise<Receipt> {
    return this.counted('sync', source, request, (body, context) => parseSync(body, context));
  }

  logFile(source: Source, request: Request): Promise<Receipt> {
    return this.counted('log', source, request, (body, context) => {
      const uuid = checked(asUuid, rawQuery(request.originalUrl).get('uuid') ?? '', 'uuid');
      return parseLogFile(body, uuid, context, this.limits.maxLogFileBytes);
    });
  }

  private counted(kind: string, source: Source, request: Request, parse: Parse): Promise<Receipt> {
    return this.intake.counted(kind, async () => {
      const app = await this.require(source.clientId, request.ip);
      const [message] = await this.intake.take(app, request, {
        kind,
        env: source.env,
        maxBytes: this.limits.maxBodyBytes,
        maxUnpackedBytes: this.limits.maxLogFileBytes,
        parse: async (body) => {
          const context = { env: checked(asEnv, source.env, 'env'), now: Date.now() };
          return [await parseOr422(() => parse(body, context))];
        },
      });
      const rejected = message?.rejected.count ?? 0;
      return rejected > 0 ? { status: 'accepted', rejected } : { status: 'accepted' };
    });
  }

  /**
   * The app of a client ID. 404 is for what the store certainly does not know: a library that reads it sends nothing any
   * more.
   */
  private async require(clientId: string, address: string | undefined): Promise<ClientApp> {
    const uuid = parseUuid(clientId);
    const id = typeof uuid === 'string' ? uuid : null;
    if (id === null || !this.apps.isKnown(id)) {
      const exists = async () => id !== null && (await this.intake.available(this.apps.exists(id)));
      const refused = await this.failures.refused(address, exists);
      if (refused !== null) throw rateLimitExceeded(refused);
    }
    const app = id === null ? undefined : await this.intake.available(this.apps.find(id));
    if (app) return app;
    const uncertain = await this.intake.available(this.apps.whyUncertain());
    if (uncertain !== null) {
      this.reportUncertain(uncertain);
      throw serviceUnavailable();
    }
    const exceeded = await this.failures.record(address);
    throw exceeded === null ? clientIdUnknown() : rateLimitExceeded(exceeded);
  }

  private reportUncertain(why: string): void {
    const now = performance.now();
    if (now - this.uncertainLoggedAt < UNCERTAIN_LOG_INTERVAL_MS) return;
    this.uncertainLoggedAt = now;
    this.log.error(`unknown client IDs get 503, because 404 stops client libraries for good: ${why}`);
  }
}

async function parseOr422(parse: () => Message | Promise<Message>): Promise<Message> {
  try {
    return await parse();
  } catch (error) {
    if (error instanceof LogFileTooLarge) throw payloadTooLarge();
    throw error instanceof Rejection ? unprocessable(error.message) : error;
  }
}

function checked<T>(check: Check<T>, value: unknown, name: string): T {
  try {
    return check(value, name);
  } catch (error) {
    throw error instanceof Rejection ? unprocessable(error.message) : error;
  }
}
