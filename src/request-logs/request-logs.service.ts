import { Injectable } from '@nestjs/common';
import { type AppScope, AppsService } from '../apps/apps.service.js';
import type { Account } from '../auth/account.js';
import { requestLogNotFound } from '../common/http/api-error.js';
import { JsonLines } from '../clickhouse/json-lines.js';
import { frameLines } from '../common/pagination/page.dto.js';
import { PageTokens } from '../common/pagination/page-token.js';
import { type WindowWalk, nextToken, tokenWindow } from '../common/pagination/walk.js';
import { logsRetainedFrom } from '../common/time/retention.js';
import { type Window, resolveWindow } from '../common/time/window.js';
import { LogDensity } from './log-density.js';
import { newestFirst } from './newest-first.js';
import type { RequestLog } from './request-logs.dto.js';
import {
  DEFAULT_SPAN_MS,
  type GetRequestDetailsInput,
  type ListRequestLogsInput,
} from './request-logs.input.js';
import { type RequestLogKey, RequestLogsRepository } from './request-logs.repository.js';

@Injectable()
export class RequestLogsService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: RequestLogsRepository,
    private readonly density: LogDensity,
    private readonly tokens: PageTokens,
  ) {}

  /** A page as JSON text in UTF-8: records are framed as the engine wrote them. */
  async list(account: Account, input: ListRequestLogsInput): Promise<Buffer> {
    const scope = await this.apps.require(account, input.app_id);
    const { walk, limit } = input;
    const window = windowOf(walk);
    const rows = await this.newest(scope, input, window);
    const hasMore = rows.length > limit;
    const token = hasMore ? await this.tokenAfter(rows.at(limit - 1), input, scope, window) : undefined;
    return frameLines(rows, limit, token);
  }

  /** One request as JSON text in UTF-8; 404 when it is unknown, expired, excluded or of another app. */
  async get(account: Account, { app_id, request_uuid }: GetRequestDetailsInput): Promise<Buffer> {
    const scope = await this.apps.require(account, app_id);
    const row = await this.repository.find(scope, request_uuid, logsRetainedFrom(Date.now()));
    if (row === null) throw requestLogNotFound();
    return row;
  }

  /** One record more than the page holds, where there are so many. */
  private async newest(scope: AppScope, input: ListRequestLogsInput, window: Window): Promise<JsonLines> {
    const after = positionOf(input.walk);
    const { start } = window;
    const end = after ? Math.min(window.end, after.timestamp + 1) : window.end;
    if (start >= end) return JsonLines.join([]);
    const density = await this.density.of(scope, input.walk.now);
    const finds = await newestFirst({ start, end }, input.limit + 1, density, (look) =>
      this.repository.page(scope, input, look, after),
    );
    return JsonLines.join(finds);
  }

  private async tokenAfter(
    record: string,
    { binding, walk }: ListRequestLogsInput,
    scope: AppScope,
    window: Window,
  ) {
    const { timestamp, request_uuid } = JSON.parse(record) as RequestLog;
    await this.tokens.ready();
    return nextToken(this.tokens, binding, scope, {
      window: tokenWindow(window),
      sent: walk.resumed?.sent ?? walk.sent,
      after: [Date.parse(timestamp), request_uuid],
    });
  }
}

/** The token's window for the whole walk, cut again to what may be shown now. */
function windowOf({ now, sent, resumed }: WindowWalk): Window {
  const [start, end] = resumed ? resumed.window : sent;
  return resolveWindow({
    start: start ?? undefined,
    end: end ?? undefined,
    now,
    defaultSpanMs: DEFAULT_SPAN_MS,
    retainedFrom: logsRetainedFrom(now),
  });
}

function positionOf({ resumed }: WindowWalk): RequestLogKey | undefined {
  return resumed && { timestamp: Number(resumed.after[0]), request_uuid: String(resumed.after[1]) };
}
