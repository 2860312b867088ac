import { Injectable, Logger } from '@nestjs/common';
import type { Request } from 'express';
import { GroupOverloaded, QueryLimiter } from '../clickhouse/query-limiter.js';
import { RequestContext } from '../common/request-context.js';
import { Config } from '../config/config.js';
import { ApiError, rateLimitExceeded, serviceUnavailable } from '../http/api-error.js';
import { parseRawQuery } from '../http/raw-query.js';
import { isGzip, readUnpackedSize } from '../ingestion/files/gunzip.js';
import { InvalidRecordError, type StrictDecoder } from '../ingestion/formats/decoders.js';
import { decodeEnv, decodeUuid } from '../ingestion/formats/request-decoders.js';
import { Telemetry } from '../observability/telemetry.js';
import { FailedAuthLimiter } from '../rate-limit/failed-auth-limiter.js';
import { WindowCounter, retryAfterSeconds } from '../rate-limit/window.counter.js';
import { parseUuid } from '../validation/uuid.js';
import { BatchCommitter } from './batches/batch-committer.js';
import { type ClientApp, ClientApps } from './client-apps.js';
import { MemoryBudget, type Reservation } from './memory-budget.js';
import { classifyOutcome } from './message-outcome.js';
import { type Message, type MessageContext, weighMessage } from './message.js';
import { LogFileTooLarge, parseLogFile } from './protocol/log-file.js';
import { parseStartup } from './protocol/startup.parser.js';
import { parseSync } from './protocol/sync.parser.js';
import { RejectionReporter } from './rejection-reporter.js';
import { payloadTooLarge, readBody } from './request-body.js';

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

/** Limits of the parse queue; each queued message keeps its bytes in memory. */
const MAX_WAITING = 1_000;
const MAX_WAIT_MS = 4_000;
const RETRY_AFTER_SECONDS = 1;
/** After a message that blocked the thread for longer, the next one of its app waits so many times as long. */
const EXPENSIVE_PARSE_MS = 20;
const PAUSE_FACTOR = 2;
/** Libraries retry often, so one line a minute is enough. */
const UNCERTAIN_LOG_INTERVAL_MS = 60_000;

type Parse = (body: Buffer, context: MessageContext) => Message | Promise<Message>;

const clientIdUnknown = () => new ApiError(404, 'Client ID not found');
/** Not 404, because libraries stop permanently at 404, and the app may be enabled again. */
const appDisabled = () => new ApiError(403, 'App is disabled');
const unprocessable = (reason: string) => new ApiError(422, reason);

/** Receives messages of client libraries. Every method resolves once the message is stored, or throws an ApiError. */
@Injectable()
export class CollectorService {
  private readonly log = new Logger(CollectorService.name);
  private readonly budget: MemoryBudget;
  /** Limits parsing, which blocks the event loop and needs memory for decompressed data. */
  private readonly parsing = new QueryLimiter(2, MAX_WAITING, MAX_WAIT_MS);
  private readonly rejections: RejectionReporter;
  private readonly limits: Config['collector'];
  private uncertainLoggedAt = -Infinity;

  constructor(
    private readonly apps: ClientApps,
    private readonly committer: BatchCommitter,
    private readonly counter: WindowCounter,
    private readonly failedAuth: FailedAuthLimiter,
    { collector }: Config,
    private readonly telemetry: Telemetry,
  ) {
    this.limits = collector;
    this.budget = new MemoryBudget(collector.maxInFlightBytes);
    this.rejections = new RejectionReporter(telemetry.metrics);
    telemetry.metrics?.gauge(
      { name: 'collector_in_flight_bytes', help: 'Bytes of messages without a response yet' },
      () => [{ value: this.budget.used }],
    );
  }

  startup(origin: MessageOrigin, request: Request): Promise<AckResponse> {
    return this.withMetrics('startup', origin, request, (body, context) => parseStartup(body, context));
  }

  sync(origin: MessageOrigin, request: Request): Promise<AckResponse> {
    return this.withMetrics('sync', origin, request, (body, context) => parseSync(body, context));
  }

  logFile(origin: MessageOrigin, request: Request): Promise<AckResponse> {
    return this.withMetrics('log', origin, request, (body, context) => {
      const uuid = decodeOr422(decodeUuid, parseRawQuery(request.originalUrl).get('uuid') ?? '', 'uuid');
      return parseLogFile(body, uuid, context, this.limits.maxLogFileBytes);
    });
  }

  private async withMetrics(
    kind: string,
    origin: MessageOrigin,
    request: Request,
    parse: Parse,
  ): Promise<AckResponse> {
    const { metrics } = this.telemetry;
    try {
      const response = await this.handle(kind, origin, request, parse);
      metrics?.countMessage(kind, 'accepted');
      return response;
    } catch (error) {
      metrics?.countMessage(kind, classifyOutcome(error));
      throw error;
    }
  }

  private async handle(
    kind: string,
    origin: MessageOrigin,
    request: Request,
    parse: Parse,
  ): Promise<AckResponse> {
    const app = await this.requireApp(origin.clientId, request.ip);
    if (RequestContext.current) RequestContext.current.logFields.app_id = app.id;
    if (app.disabled) throw appDisabled();
    await this.admit(app);
    const reservation = this.budget.open(app.id);
    try {
      const message = await this.readMessage(app, origin, request, parse, reservation);
      await this.commit(app, message);
      const { count } = message.rejected;
      this.rejections.reportRejected({ app_id: app.id, env: message.env, kind }, message.rejected);
      return count > 0 ? { status: 'accepted', rejected: count } : { status: 'accepted' };
    } catch (error) {
      if (error instanceof ApiError && [413, 422].includes(error.getStatus()))
        this.rejections.reportMessage({ app_id: app.id, env: origin.env, kind }, error.detail);
      throw error;
    } finally {
      reservation.release();
    }
  }

  /**
   * The app of a client ID. 404 only if the store certainly has no such app, because a library stops permanently at 404.
   */
  private async requireApp(clientId: string, address: string | undefined): Promise<ClientApp> {
    const uuid = parseUuid(clientId);
    const id = typeof uuid === 'string' ? uuid : null;
    if (id === null || !this.apps.isKnown(id)) {
      const exists = async () => id !== null && (await this.asUnavailable(this.apps.exists(id)));
      const retryAfter = await this.failedAuth.retryAfter(address, exists);
      if (retryAfter !== null) throw rateLimitExceeded(retryAfter);
    }
    const app = id === null ? undefined : await this.asUnavailable(this.apps.find(id));
    if (app) return app;
    const uncertain = await this.asUnavailable(this.apps.whyUncertain());
    if (uncertain !== null) {
      this.reportUncertain(uncertain);
      throw serviceUnavailable();
    }
    const exceeded = await this.failedAuth.record(address);
    throw exceeded === null ? clientIdUnknown() : rateLimitExceeded(exceeded);
  }

  private reportUncertain(why: string): void {
    const now = performance.now();
    if (now - this.uncertainLoggedAt < UNCERTAIN_LOG_INTERVAL_MS) return;
    this.uncertainLoggedAt = now;
    this.log.error(`unknown client IDs get 503, because 404 stops client libraries permanently: ${why}`);
  }

  private async admit({ id }: ClientApp): Promise<void> {
    const window = await this.counter.hit(`app:${id}`);
    const isAllowed = window.hits <= this.limits.rateLimitPerMinute;
    this.telemetry.metrics?.countDecision('client_id', isAllowed);
    if (!isAllowed) throw rateLimitExceeded(retryAfterSeconds(window));
  }

  /** While it is read a message holds its bytes, then what it unpacks to, and once it is parsed what its rows will weigh. */
  private async readMessage(
    app: ClientApp,
    origin: MessageOrigin,
    request: Request,
    parse: Parse,
    reservation: Reservation,
  ): Promise<Message> {
    const context = { env: decodeOr422(decodeEnv, origin.env, 'env'), now: Date.now() };
    const body = await readBody(request, this.limits.maxBodyBytes, (bytes) => {
      reservation.resize(bytes);
    });
    // Before it waits for its turn: log files unpack to many times their size, and one app could have dozens wait.
    if (isGzip(body))
      reservation.resize(
        Math.max(body.length, Math.min(readUnpackedSize(body), this.limits.maxLogFileBytes)),
      );
    const message = await this.parseInTurn(app, () => parseOr422(() => parse(body, context)));
    reservation.resize(weighMessage(message));
    return message;
  }

  /**
   * Parses a message when the turn of its app has come. A message that blocked the thread delays the next one of its app, so
   * that an app whose messages are expensive takes a part of the thread's time, however many it sends.
   *
   * @throws ApiError 429 when the app's own messages keep it waiting, 503 when those of others do
   */
  private async parseInTurn(app: ClientApp, parse: () => Promise<Message>): Promise<Message> {
    let blockedMs = 0;
    const parseMeasured = () => {
      const startedAt = performance.now();
      const parsed = parse();
      // Log files give the thread back while they are parsed.
      blockedMs = performance.now() - startedAt;
      return parsed;
    };
    const groupPauseMs = () => (blockedMs > EXPENSIVE_PARSE_MS ? PAUSE_FACTOR * blockedMs : 0);
    try {
      return await this.parsing.run(new AbortController().signal, parseMeasured, {
        group: app.id,
        groupPauseMs,
      });
    } catch (error) {
      throw error instanceof GroupOverloaded ? rateLimitExceeded(RETRY_AFTER_SECONDS) : error;
    }
  }

  private commit(app: ClientApp, message: Message): Promise<void> {
    const appMessage = { app, app_id: app.id, message_uuid: message.uuid, message };
    return this.asUnavailable(this.committer.commit(appMessage, weighMessage(message)));
  }

  /** Maps every error of the store to 503, because libraries retry after 503 and may succeed later. */
  private async asUnavailable<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof ApiError) throw error;
      this.log.error(error instanceof Error ? error.message : error);
      throw serviceUnavailable();
    }
  }
}

async function parseOr422(parse: () => Message | Promise<Message>): Promise<Message> {
  try {
    return await parse();
  } catch (error) {
    if (error instanceof LogFileTooLarge) throw payloadTooLarge();
    throw error instanceof InvalidRecordError ? unprocessable(error.message) : error;
  }
}

function decodeOr422<T>(decode: StrictDecoder<T>, value: unknown, name: string): T {
  try {
    return decode(value, name);
  } catch (error) {
    throw error instanceof InvalidRecordError ? unprocessable(error.message) : error;
  }
}
