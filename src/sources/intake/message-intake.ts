import { Injectable, Logger } from '@nestjs/common';
import { GroupOverloaded, QueryLimiter } from '../../store/client/query-limiter.js';
import { RequestContext } from '../../telemetry/request-context.js';
import { Config } from '../../config/config.js';
import { ClientDisconnected, onDisconnect } from '../../platform/http/abort-signal.middleware.js';
import { ApiError, rateLimitExceeded, serviceUnavailable } from '../../platform/http/api-error.js';
import { readBody } from '../../platform/http/request-body.js';
import type { MessageOutcome } from '../../telemetry/metrics/metrics.js';
import { Telemetry } from '../../telemetry/telemetry.js';
import { WindowCounter, retryAfterSeconds } from '../../access/rate-limit/window.counter.js';
import { BatchCommitter } from '../../write/batches/batch-committer.js';
import { MINUTE_MS } from '../../shared/time/units.js';
import { BodyWork } from './body-work.js';
import type { ClientApp } from '../../access/tokens/client-apps.js';
import { RefusedSenders } from '../../access/tokens/refused-senders.js';
import { MemoryBudget, type Reservation } from './memory-budget.js';
import { type Message, weighMessage } from '../../write/batches/message.js';
import { type RejectionOrigin, RejectionReporter } from './rejection-reporter.js';
import type { SenderRequest } from './sender-request.js';
import { ParseThreads } from '../parsing/parse-threads.js';
import type { UnpackLimit } from './unpack-limit.js';

/** Limits of the parse queue; each queued body keeps its bytes in memory. */
const MAX_WAITING = 1_000;
const MAX_WAIT_MS = 4_000;
const RETRY_AFTER_SECONDS = 1;
/**
 * A body that held the event loop longer than this makes its app pause for the same time, so the app gets at
 * most half of the time.
 */
const EXPENSIVE_PARSE_MS = 20;
/** Statuses of bodies that must not be sent again. */
const REJECTED = new Set([400, 413, 422]);
const OUTCOMES: Readonly<Record<number, MessageOutcome>> = {
  404: 'unknown_client',
  429: 'rate_limited',
  503: 'unavailable',
};

/** A kind of body that the collector accepts. */
export interface BodyKind {
  /** The name of the kind in logs and metrics: `sync`, `traces`. */
  kind: string;
  /** The environment, if it is known before the body is read. */
  env: string;
  /** Largest body in bytes, both as it arrives and decompressed. */
  maxBytes: number;
  unpackLimit: UnpackLimit;
  /**
   * Decompresses a body in another thread, where its sender says that it is compressed.
   *
   * @throws ApiError when the body is damaged or too large
   */
  unpack?: ((body: Buffer) => Buffer | Promise<Buffer>) | undefined;
  /**
   * Parses and redacts the messages of a body; `reserve` sets the number of bytes of memory that they hold.
   *
   * @throws ApiError when the body is invalid, or takes too long
   */
  parse: (body: Buffer, work: BodyWork, reserve: (bytes: number) => void) => Promise<readonly Message[]>;
}

interface WeighedMessage {
  readonly message: Message;
  /** Length of its rows in bytes. */
  readonly weight: number;
}

/** Reads, parses and stores the bodies of every protocol, within the limits of their app. */
@Injectable()
export class MessageIntake {
  private readonly log = new Logger('Collector');
  private readonly budget: MemoryBudget;
  /** Limits parsing, which needs memory for decompressed data. */
  private readonly parsing: QueryLimiter;
  private readonly rejections: RejectionReporter;
  private readonly rateLimitPerMinute: number;
  private readonly maxBodyMs: number;
  private readonly maxAppMs: number;
  /** Milliseconds for which the bodies of each app held the event loop in this minute. */
  private readonly spentMs = new Map<number, number>();
  private minute = 0;

  constructor(
    private readonly committer: BatchCommitter,
    private readonly counter: WindowCounter,
    { collector }: Config,
    private readonly telemetry: Telemetry,
    private readonly refused: RefusedSenders,
    { concurrency }: ParseThreads,
  ) {
    this.parsing = new QueryLimiter(concurrency, MAX_WAITING, MAX_WAIT_MS);
    this.rateLimitPerMinute = collector.rateLimitPerMinute;
    this.maxBodyMs = collector.maxBodyMs;
    this.maxAppMs = collector.maxAppMs;
    this.budget = new MemoryBudget(collector.maxInFlightBytes);
    this.rejections = new RejectionReporter(telemetry.metrics);
    telemetry.metrics?.gauge(
      { name: 'collector_in_flight_bytes', help: 'Bytes of messages without a response yet' },
      () => [{ value: this.budget.used }],
    );
  }

  /** Counts the outcome of a request in the metrics. */
  async countOutcome<T>(kind: string, work: () => Promise<T>): Promise<T> {
    const { metrics } = this.telemetry;
    try {
      const result = await work();
      metrics?.countMessage(kind, 'accepted');
      return result;
    } catch (error) {
      metrics?.countMessage(kind, classifyOutcome(error));
      throw error;
    }
  }

  /**
   * Reads a body and resolves to its messages once all of them are stored.
   *
   * @throws ApiError if it is rejected, or cannot be stored now
   */
  receive(app: ClientApp, request: SenderRequest, body: BodyKind): Promise<readonly Message[]> {
    return this.accept(app, request, body, async (reservation, work) => {
      const weighed = await this.readMessages(app, request, body, reservation, work);
      await work.wait(this.commitAll(app, weighed));
      const messages = weighed.map(({ message }) => message);
      for (const { env, rejected } of messages)
        this.rejections.reportRejected({ app_id: app.id, env, kind: body.kind }, rejected);
      return messages;
    });
  }

  /**
   * Does the work for a body within the limits of its app, and reports a rejection.
   *
   * @throws ApiError if the app is disabled or sends too many, ClientDisconnected, or the errors of `read`
   */
  async accept<T>(
    app: ClientApp,
    request: SenderRequest,
    { kind, env }: Pick<BodyKind, 'kind' | 'env'>,
    read: (reservation: Reservation, work: BodyWork) => Promise<T>,
  ): Promise<T> {
    const origin = { app_id: app.id, env, kind };
    if (RequestContext.current) RequestContext.current.logFields.app_id = app.id;
    // Not 404, because libraries stop permanently at 404, and the app may be enabled again.
    if (app.disabled) {
      this.refused.report(request, 'disabled_app', app.id);
      throw new ApiError(403, 'App is disabled');
    }
    await this.admit(app);
    this.admitWork(origin);
    const disconnection = new AbortController();
    if (request.res)
      onDisconnect(request.res, (reason) => {
        disconnection.abort(reason);
      });
    const work = new BodyWork(this.maxBodyMs, disconnection.signal);
    const reservation = this.budget.open(app);
    try {
      return await read(reservation, work);
    } catch (error) {
      if (error instanceof ApiError && REJECTED.has(error.getStatus()))
        this.rejections.reportMessage(origin, error.detail);
      throw error;
    } finally {
      reservation.release();
      this.spentMs.set(app.id, (this.spentMs.get(app.id) ?? 0) + work.spentMs);
    }
  }

  /** Maps every error of the store to 503, because senders retry after 503 and may succeed later. */
  async mapToUnavailable<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof ApiError) throw error;
      this.log.error(error instanceof Error ? error.message : error);
      throw serviceUnavailable();
    }
  }

  /** @throws ApiError 429 if the app's bodies took too much time of this minute */
  private admitWork(origin: RejectionOrigin): void {
    const now = performance.now();
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.minute) this.spentMs.clear();
    this.minute = minute;
    if ((this.spentMs.get(origin.app_id) ?? 0) <= this.maxAppMs) return;
    const seconds = this.maxAppMs / 1000;
    this.rejections.reportMessage(
      origin,
      `takes more than ${seconds} seconds of a minute (COLLECTOR_MAX_APP_SECONDS)`,
    );
    throw rateLimitExceeded(Math.ceil(((minute + 1) * MINUTE_MS - now) / 1000));
  }

  private async admit({ id }: ClientApp): Promise<void> {
    const window = await this.counter.hit(`app:${id}`);
    const isAllowed = window.hits <= this.rateLimitPerMinute;
    this.telemetry.metrics?.countDecision('client_id', isAllowed);
    if (!isAllowed) throw rateLimitExceeded(retryAfterSeconds(window));
  }

  /**
   * A body reserves its bytes while it is read, then its decompressed size, and after parsing the size of its
   * rows.
   */
  private async readMessages(
    app: ClientApp,
    request: SenderRequest,
    { maxBytes, unpackLimit, unpack, parse }: BodyKind,
    reservation: Reservation,
    work: BodyWork,
  ): Promise<readonly WeighedMessage[]> {
    const body = await readBody(request, maxBytes, (bytes) => {
      reservation.admit(bytes);
    });
    // Checked before queueing: compressed bodies grow many times, and one app can queue dozens.
    const bytes = unpackLimit.estimate(body);
    reservation.admit(bytes);
    const messages = await this.parseInTurn(app, work, async () => {
      reservation.admit(bytes);
      const unpacked = unpack ? await unpack(body) : body;
      work.begin();
      const reserve = (more: number) => {
        reservation.resize(more);
      };
      return parse(unpacked, work, reserve);
    });
    const weighed = messages.map((message) => ({ message, weight: weighMessage(message) }));
    reservation.resize(weighed.reduce((sum, { weight }) => sum + weight, 0));
    return weighed;
  }

  /**
   * Parses a body when it is its app's turn. A body that took long delays the next body of its app. So an app
   * with expensive bodies gets a bounded share of the thread's time, however many bodies it sends.
   *
   * @throws ApiError 429 when the app's own bodies keep it waiting, 503 when bodies of other apps do;
   * ClientDisconnected
   */
  private async parseInTurn<T>(app: ClientApp, work: BodyWork, parse: () => Promise<T>): Promise<T> {
    const groupPauseMs = () => (work.spentMs > EXPENSIVE_PARSE_MS ? work.spentMs : 0);
    try {
      // The body of a sender that disconnected leaves the queue at once, and its memory is freed.
      return await this.parsing.run(work.signal, parse, { group: app.id, groupPauseMs });
    } catch (error) {
      throw error instanceof GroupOverloaded ? rateLimitExceeded(RETRY_AFTER_SECONDS) : error;
    }
  }

  /** Each message has its own identity, so a retry of the body stores only the failed messages. */
  private async commitAll(app: ClientApp, messages: readonly WeighedMessage[]): Promise<void> {
    const commits = messages.map(({ message, weight }) =>
      this.committer.commit({ app, app_id: app.id, message_uuid: message.uuid, message }, weight),
    );
    await Promise.allSettled(commits);
    for (const commit of commits) await this.mapToUnavailable(commit);
  }
}

/** The `outcome` label of a message that was not accepted. */
function classifyOutcome(error: unknown): MessageOutcome {
  if (error instanceof ClientDisconnected) return 'disconnected';
  if (!(error instanceof ApiError)) return 'failed';
  const status = error.getStatus();
  return OUTCOMES[status] ?? (status < 500 ? 'invalid' : 'failed');
}
