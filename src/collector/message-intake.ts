import { Injectable, Logger } from '@nestjs/common';
import type { Request } from 'express';
import { GroupOverloaded, QueryLimiter } from '../clickhouse/query-limiter.js';
import { Config } from '../config/config.js';
import { ApiError, rateLimitExceeded, serviceUnavailable } from '../http/api-error.js';
import { isGzip, readUnpackedSize } from '../ingestion/files/gunzip.js';
import { Telemetry } from '../observability/telemetry.js';
import { WindowCounter, retryAfterSeconds } from '../rate-limit/window.counter.js';
import { BatchCommitter } from './batches/batch-committer.js';
import type { ClientApp } from './client-apps.js';
import { MemoryBudget, type Reservation } from './memory-budget.js';
import { classifyOutcome } from './message-outcome.js';
import { type Message, weighMessage } from './message.js';
import { RejectionReporter } from './rejection-reporter.js';
import { readBody } from './request-body.js';

/** Messages that wait to be parsed, and how long: each holds its bytes meanwhile. */
const MAX_WAITING = 1_000;
const MAX_WAIT_MS = 4_000;
const RETRY_AFTER_SECONDS = 1;
/** Statuses of a body that can never be taken. */
const REJECTED = new Set([400, 413, 422]);

/** One kind of body that the collector takes. */
export interface BodyKind {
  /** As the log and the metrics call it: `sync`, `traces`. */
  kind: string;
  /** The environment as far as it is known before the body is read. */
  env: string;
  /** The longest body as it arrives, and unpacked, in bytes. */
  maxBytes: number;
  maxUnpackedBytes: number;
  /**
   * Reads the messages of a body in the app's turn; `reserve` holds more memory for it.
   *
   * @throws ApiError when it can never be taken
   */
  parse: (body: Buffer, reserve: (bytes: number) => void) => readonly Message[] | Promise<readonly Message[]>;
}

/** Brings bodies of an app into the store, whichever protocol they are of. */
@Injectable()
export class MessageIntake {
  private readonly log = new Logger('Collector');
  private readonly budget: MemoryBudget;
  /** Parsing takes the thread, and what is unpacked takes memory. */
  private readonly parsing = new QueryLimiter(2, MAX_WAITING, MAX_WAIT_MS);
  private readonly rejections: RejectionReporter;
  private readonly rateLimitPerMinute: number;

  constructor(
    private readonly committer: BatchCommitter,
    private readonly counter: WindowCounter,
    { collector }: Config,
    private readonly telemetry: Telemetry,
  ) {
    this.rateLimitPerMinute = collector.rateLimitPerMinute;
    this.budget = new MemoryBudget(collector.maxInFlightBytes);
    this.rejections = new RejectionReporter(telemetry.metrics);
    telemetry.metrics?.gauge(
      { name: 'collector_in_flight_bytes', help: 'Bytes of the messages that have no answer yet' },
      () => [{ value: this.budget.used }],
    );
  }

  /** Counts what became of a message. */
  async counted<T>(kind: string, work: () => Promise<T>): Promise<T> {
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
   * Reads a body and resolves to its messages once the store has all of them.
   *
   * @throws ApiError when it cannot be taken, or not now
   */
  async take(app: ClientApp, request: Request, body: BodyKind): Promise<readonly Message[]> {
    if (request.logFields) request.logFields.app_id = app.id;
    // Not 404, at which the client libraries stop for good: the app may be enabled again.
    if (app.disabled) throw new ApiError(403, 'App is disabled');
    await this.admit(app);
    const reservation = this.budget.open(app.id);
    const { kind } = body;
    try {
      const messages = await this.readMessages(app, request, body, reservation);
      await this.commitAll(app, messages);
      for (const { env, rejected } of messages)
        this.rejections.reportRejected({ app_id: app.id, env, kind }, rejected);
      return messages;
    } catch (error) {
      if (error instanceof ApiError && REJECTED.has(error.getStatus()))
        this.rejections.reportMessage({ app_id: app.id, env: body.env, kind }, error.detail);
      throw error;
    } finally {
      reservation.release();
    }
  }

  /** Whatever keeps the store from taking a message now, a later try may succeed: senders repeat after 503. */
  async available<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof ApiError) throw error;
      this.log.error(error instanceof Error ? error.message : error);
      throw serviceUnavailable();
    }
  }

  private async admit({ id }: ClientApp): Promise<void> {
    const window = await this.counter.hit(`app:${id}`);
    const isAllowed = window.hits <= this.rateLimitPerMinute;
    this.telemetry.metrics?.countDecision('client_id', isAllowed);
    if (!isAllowed) throw rateLimitExceeded(retryAfterSeconds(window));
  }

  /** While it is read a body holds its bytes, then what it unpacks to, and once it is parsed what its rows will weigh. */
  private async readMessages(
    app: ClientApp,
    request: Request,
    { maxBytes, maxUnpackedBytes, parse }: BodyKind,
    reservation: Reservation,
  ): Promise<readonly Message[]> {
    const reserve = (bytes: number) => {
      reservation.resize(bytes);
    };
    const body = await readBody(request, maxBytes, reserve);
    // Before it waits for its turn: what is packed unpacks to many times its size, and one app could have dozens wait.
    if (isGzip(body)) reserve(Math.max(body.length, Math.min(readUnpackedSize(body), maxUnpackedBytes)));
    const messages = await this.parseInTurn(app, async () => parse(body, reserve));
    reserve(messages.reduce((sum, message) => sum + weighMessage(message), 0));
    return messages;
  }

  /** @throws ApiError 429 when the app's own messages keep it waiting, 503 when those of others do */
  private async parseInTurn<T>(app: ClientApp, parse: () => Promise<T>): Promise<T> {
    try {
      return await this.parsing.run(new AbortController().signal, parse, { group: app.id });
    } catch (error) {
      throw error instanceof GroupOverloaded ? rateLimitExceeded(RETRY_AFTER_SECONDS) : error;
    }
  }

  /** Each message is known by its own identity: a body that is sent again brings those that did not get in. */
  private async commitAll(app: ClientApp, messages: readonly Message[]): Promise<void> {
    const commits = messages.map((message) =>
      this.committer.commit(
        { app, app_id: app.id, message_uuid: message.uuid, message },
        weighMessage(message),
      ),
    );
    await Promise.allSettled(commits);
    for (const commit of commits) await this.available(commit);
  }
}
