import { Injectable } from '@nestjs/common';
import { type AppScope, AppsService } from '../apps/apps.service.js';
import { ResultTooLarge } from '../../store/client/clickhouse.errors.js';
import { JsonLines } from '../../store/client/json-lines.js';
import type { Account } from '../../platform/http/account.js';
import { logsRetainedFrom } from '../../config/retention.js';
import type { Window } from '../../shared/time/window.js';
import { requestLogNotFound } from '../../platform/http/api-error.js';
import { JsonResponse } from '../../platform/http/json-response.js';
import { ReadAudit } from '../../access/read-audit.js';
import {
  type WindowCursor,
  endsInPast,
  getTokenWindow,
  resolveCursorWindow,
} from '../../platform/paging/page-cursor.js';
import { PageTokens } from '../../platform/paging/page-tokens.js';
import { frameLines } from '../../platform/paging/page.dto.js';
import { type ScanResult, type ScanStep, scanBackwards } from './backward-scan.js';
import { hideBodies } from './captured-fields.js';
import { LogRateEstimator } from './log-rate-estimator.js';
import type { RequestLogKey } from './request-log-key.js';
import { KEY_LENGTH } from './request-log.record.js';
import type { RequestLog } from './request-logs.dto.js';
import type { GetRequestDetailsInput, ListRequestLogsInput } from './request-logs.input.js';
import { MAX_LOG_PAGE_BYTES, RequestLogsRepository } from './request-logs.repository.js';
import {
  type DetailsWithTrace,
  addException,
  addTrace,
  findOpenFailure,
  findOpenTrace,
  findOwnSpan,
} from './request-trace.js';
import { MAX_LOGS, RequestTraceRepository } from './request-trace.repository.js';

@Injectable()
export class RequestLogsService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: RequestLogsRepository,
    private readonly traces: RequestTraceRepository,
    private readonly rateEstimator: LogRateEstimator,
    private readonly tokens: PageTokens,
    private readonly audit: ReadAudit,
  ) {}

  /** A page: records are framed as the engine wrote them. */
  async list(account: Account, input: ListRequestLogsInput): Promise<JsonResponse> {
    const { app_id, limit, consumer_id } = input;
    const scope = await this.apps.require(account, app_id, { consumer_id });
    const window = resolveCursorWindow(input, logsRetainedFrom(input.cursor.now));
    const page = await this.readPage(scope, input, window, limit);
    const { hasMore } = page;
    // One record per key: the store may have copies of a row, and the keyset would skip a copy on the next
    // page.
    const rows = page.rows.withoutRepeats(KEY_LENGTH);
    const count = Math.min(page.count, rows.length);
    const token = hasMore ? await this.tokenAfter(rows.at(count - 1), input, scope, window) : undefined;
    return new JsonResponse(frameLines(rows, count, token), endsInPast(input.cursor), token);
  }

  /** One request; 404 if it is unknown, expired, excluded or of another app. */
  async get(
    account: Account,
    { app_id, request_uuid, include_consumer_id, include_log_attributes }: GetRequestDetailsInput,
  ): Promise<JsonResponse> {
    const scope = await this.apps.require(account, app_id, { request_uuid });
    const found = await this.repository.find(
      scope,
      request_uuid,
      logsRetainedFrom(Date.now()),
      include_consumer_id,
    );
    if (found === null) throw requestLogNotFound();
    if (account.scopes.hasBodies) this.audit.write('getRequestDetails', account, { app_id, request_uuid });
    const row = await this.withException(scope, request_uuid, found);
    const { details, logsLeftOut } = await this.withTrace(scope, request_uuid, row, include_log_attributes);
    const headers = logsLeftOut > 0 ? { 'X-Logs-Left-Out': String(logsLeftOut) } : {};
    return new JsonResponse(hideBodies(account, details), true, undefined, headers);
  }

  /** The details with the exception in the request's trace, if a failed request recorded none itself. */
  private async withException(scope: AppScope, requestUuid: string, row: Buffer): Promise<Buffer> {
    const timestamp = findOpenFailure(row);
    const found =
      timestamp === undefined ? undefined : await this.traces.findException(scope, requestUuid, timestamp);
    return found ? addException(row, found) : row;
  }

  /** The details with the spans and log records of the request's trace, if it has no captured ones. */
  private async withTrace(
    scope: AppScope,
    requestUuid: string,
    row: Buffer,
    withAttributes: boolean,
  ): Promise<DetailsWithTrace> {
    const open = findOpenTrace(row);
    const withoutTrace = { details: row, logsLeftOut: 0 };
    if (!open) return withoutTrace;
    const { traceId, timestamp } = open;
    const spans = await this.traces.findSpans(scope, traceId, timestamp);
    const ownSpan = findOwnSpan({ requestUuid, traceId }, spans);
    // If the request has no span, the whole trace counts as its own; but clients choose the IDs of their
    // traces.
    const isShared = await this.traces.isShared(scope, traceId, timestamp);
    if (isShared && !ownSpan) return withoutTrace;
    const logs = await this.traces.findLogs(scope, traceId, timestamp, withAttributes);
    const counts =
      logs.length < MAX_LOGS ? undefined : await this.traces.countLogs(scope, traceId, timestamp);
    return addTrace(row, { ownSpan, isShared }, spans, logs, counts);
  }

  /** The records of a page and one more, if they exist; fewer if they would be too large together. */
  private async readPage(
    scope: AppScope,
    input: ListRequestLogsInput,
    window: Window,
    limit: number,
  ): Promise<{ rows: JsonLines; count: number; hasMore: boolean }> {
    const read = <F extends ScanResult>(
      maxRecords: number,
      query: (step: ScanStep, after?: RequestLogKey) => Promise<F>,
    ) => this.scanNewest(scope, input, window, maxRecords, query);
    const page = (step: ScanStep, after?: RequestLogKey) => this.repository.page(scope, input, step, after);
    try {
      const rows = JsonLines.join(await read(limit + 1, page));
      return { rows, count: limit, hasMore: rows.length > limit };
    } catch (error) {
      if (!(error instanceof ResultTooLarge)) throw error;
      const sizes = (
        await read(limit + 1, (step, after) => this.repository.sizes(scope, input, step, after))
      ).flat();
      const count = countWithin(sizes.slice(0, limit), MAX_LOG_PAGE_BYTES / 2);
      const rows = JsonLines.join(await read(count, page));
      return { rows, count, hasMore: sizes.length > count };
    }
  }

  /** The newest records of a window up to a limit, or values derived from them. */
  private async scanNewest<F extends ScanResult>(
    scope: AppScope,
    { cursor }: ListRequestLogsInput,
    window: Window,
    limit: number,
    query: (step: ScanStep, after?: RequestLogKey) => Promise<F>,
  ): Promise<F[]> {
    const after = getPosition(cursor);
    const { start } = window;
    const end = after ? Math.min(window.end, after.timestamp + 1) : window.end;
    if (start >= end) return [];
    const rowsPerMs = await this.rateEstimator.estimate(scope, cursor.now);
    return scanBackwards({ start, end }, limit, rowsPerMs, (step) => query(step, after));
  }

  private tokenAfter(
    record: string,
    { fingerprint, cursor }: ListRequestLogsInput,
    scope: AppScope,
    window: Window,
  ) {
    const { timestamp, request_uuid } = JSON.parse(record) as RequestLog;
    return this.tokens.signNext(fingerprint, scope, {
      ...getTokenWindow(cursor, window),
      after: [Date.parse(timestamp), request_uuid],
    });
  }
}

function getPosition({ token }: WindowCursor): RequestLogKey | undefined {
  return token && { timestamp: Number(token.after[0]), request_uuid: String(token.after[1]) };
}

/** How many of the first records fit into a number of bytes; at least one. */
function countWithin(sizes: readonly number[], bytes: number): number {
  let sum = 0;
  const count = sizes.findIndex((size) => (sum += size) > bytes);
  return count === -1 ? sizes.length : Math.max(1, count);
}
