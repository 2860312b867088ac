import { Injectable, Logger } from '@nestjs/common';
import type { Request } from 'express';
import { ApiError, rateLimitExceeded, serviceUnavailable } from '../common/http/api-error.js';
import { rawQuery } from '../common/http/raw-query.js';
import { parseUuid } from '../common/validation/uuid.js';
import { Config } from '../config/config.js';
import { Rejection, type Check } from '../ingestion/checks.js';
import { asEnv, asUuid } from '../ingestion/request-checks.js';
import { AuthFailures } from '../rate-limit/auth-failures.js';
import { WindowCounter, retryAfterSeconds } from '../rate-limit/window.counter.js';
import { Telemetry } from '../telemetry/telemetry.js';
import { Budget, type Share } from './budget.js';
import { type ClientApp, ClientApps } from './client-apps.js';
import { BatchCommitter } from './batches/batch-committer.js';
import { type Message, type MessageContext, weighMessage } from './message.js';
import { outcomeOf } from './outcome.js';
import { parseLogFile } from './protocol/log-file.js';
import { parseStartup } from './protocol/startup.parser.js';
import { parseSync } from './protocol/sync.parser.js';
import { RejectionReporter } from './rejection-reporter.js';
import { payloadTooLarge, readBody } from './request-body.js';

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

type Read = (body: Buffer, context: MessageContext, share: Share) => Message | Promise<Message>;

const clientIdUnknown = () => new ApiError(404, 'Client ID not found');
const unprocessable = (reason: string) => new ApiError(422, reason);

/** Takes the messages of client libraries. Every method resolves once the store has the message, or throws an ApiError. */
@Injectable()
export class CollectorService {
  private readonly log = new Logger(CollectorService.name);
  private readonly budget: Budget;
  private readonly rejections: RejectionReporter;
  private readonly limits: Config['collector'];

  constructor(
    private readonly apps: ClientApps,
    private readonly committer: BatchCommitter,
    private readonly counter: WindowCounter,
    private readonly failures: AuthFailures,
    { collector }: Config,
    private readonly telemetry: Telemetry,
  ) {
    this.limits = collector;
    this.budget = new Budget(collector.maxInFlightBytes);
    this.rejections = new RejectionReporter(telemetry.metrics);
    telemetry.metrics?.gauge(
      { name: 'collector_in_flight_bytes', help: 'Bytes of the messages that have no answer yet' },
      () => [{ value: this.budget.used }],
    );
  }

  startup(source: Source, request: Request): Promise<Receipt> {
    return this.counted('startup', source, request, (body, context) =>
      parseStartup(body.toString(), context),
    );
  }

  sync(source: Source, request: Request): Promise<Receipt> {
    return this.counted('sync', source, request, (body, context) => parseSync(body.toString(), context));
  }

  logFile(source: Source, request: Request): Promise<Receipt> {
    return this.counted('log', source, request, (body, context, share) => {
      const uuid = checked(asUuid, rawQuery(request.originalUrl).get('uuid') ?? '', 'uuid');
      return parseLogFile(body, uuid, context, this.unpacking(share));
    });
  }

  private async counted(kind: string, source: Source, request: Request, read: Read): Promise<Receipt> {
    const { metrics } = this.telemetry;
    try {
      const receipt = await this.receive(kind, source, request, read);
      metrics?.countMessage(kind, 'accepted');
      return receipt;
    } catch (error) {
      metrics?.countMessage(kind, outcomeOf(error));
      throw error;
    }
  }

  private async receive(kind: string, source: Source, request: Request, read: Read): Promise<Receipt> {
    const app = await this.require(source.clientId, request.ip);
    await this.admit(app);
    const share = this.budget.open();
    try {
      const context = { env: checked(asEnv, source.env, 'env'), now: Date.now() };
      const body = await readBody(request, this.limits.maxBodyBytes, share);
      const message = await this.read(() => read(body, context, share));
      await this.commit(app, message);
      const { count } = message.rejected;
      if (count > 0)
        this.rejections.reportEntries({ app_id: app.id, env: message.env, kind }, message.rejected);
      return count > 0 ? { status: 'accepted', rejected: count } : { status: 'accepted' };
    } catch (error) {
      if (error instanceof ApiError && [413, 422].includes(error.getStatus()))
        this.rejections.reportMessage({ app_id: app.id, env: source.env, kind }, error.detail);
      throw error;
    } finally {
      share.release();
    }
  }

  /** The app of a client ID. 404 is for what the store does not know: a library that reads it sends nothing any more. */
  private async require(clientId: string, address: string | undefined): Promise<ClientApp> {
    const uuid = parseUuid(clientId);
    const id = typeof uuid === 'string' ? uuid : null;
    if (id === null || !this.apps.wasFound(id)) {
      const refused = await this.failures.refused(address);
      if (refused !== null) throw rateLimitExceeded(refused);
    }
    const app = id === null ? undefined : await this.available(this.apps.find(id));
    if (app) return app;
    const exceeded = await this.failures.record(address);
    throw exceeded === null ? clientIdUnknown() : rateLimitExceeded(exceeded);
  }

  private async admit({ id }: ClientApp): Promise<void> {
    const window = await this.counter.hit(`app:${id}`);
    const isAllowed = window.hits <= this.limits.rateLimitPerMinute;
    this.telemetry.metrics?.countDecision('client_id', isAllowed);
    if (!isAllowed) throw rateLimitExceeded(retryAfterSeconds(window));
  }

  private async read(read: () => Message | Promise<Message>): Promise<Message> {
    try {
      return await read();
    } catch (error) {
      throw error instanceof Rejection ? unprocessable(error.message) : error;
    }
  }

  private commit(app: ClientApp, message: Message): Promise<void> {
    const appMessage = { app, app_id: app.id, message_uuid: message.uuid, message };
    return this.available(this.committer.commit(appMessage, weighMessage(message)));
  }

  /** Whatever keeps the store from taking a message now, a later try may succeed: libraries repeat after 503. */
  private async available<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof ApiError) throw error;
      this.log.error(error instanceof Error ? error.message : error);
      throw serviceUnavailable();
    }
  }

  /** A log file becomes what it is when unpacked: that counts as well, and has a bound of its own. */
  private unpacking(share: Share) {
    let unpacked = 0;
    return {
      take: (bytes: number) => {
        unpacked += bytes;
        if (unpacked > this.limits.maxLogFileBytes) throw payloadTooLarge();
        share.take(bytes);
      },
    };
  }
}

function checked<T>(check: Check<T>, value: unknown, name: string): T {
  try {
    return check(value, name);
  } catch (error) {
    throw error instanceof Rejection ? unprocessable(error.message) : error;
  }
}
