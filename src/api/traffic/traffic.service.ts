import { Injectable } from '@nestjs/common';
import { AppsService } from '../apps/apps.service.js';
import { ConsumerCoverage } from '../apps/consumer-coverage.js';
import type { Account } from '../../platform/http/account.js';
import { trafficRetainedFrom } from '../../config/retention.js';
import { formatSeconds } from '../../shared/time/timestamp.js';
import type { Window } from '../../shared/time/window.js';
import { JsonResponse } from '../../platform/http/json-response.js';
import {
  type WindowCursor,
  endsInPast,
  getTokenWindow,
  resolveCursorWindow,
} from '../../platform/paging/page-cursor.js';
import { PageTokens } from '../../platform/paging/page-tokens.js';
import { framePage } from '../../platform/paging/page.dto.js';
import { firstWholePeriod, periodBounds, periodStart } from '../../queries/calendar/periods.js';
import { DAY_MS } from '../../shared/time/units.js';
import type { GetTrafficInput, TrafficInterval } from './traffic.input.js';
import { type PeriodSums, TrafficRepository } from './traffic.repository.js';

@Injectable()
export class TrafficService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: TrafficRepository,
    private readonly coverage: ConsumerCoverage,
    private readonly tokens: PageTokens,
  ) {}

  /**
   * A page. Its window is in the past when the last period has ended, or when no period is retained any more.
   */
  async list(account: Account, input: GetTrafficInput): Promise<JsonResponse> {
    const { app_id, consumer_id } = input;
    const scope = await this.apps.require(account, app_id, { consumer_id });
    const { cursor, interval, timezone, limit } = input;
    const window = resolveCursorWindow(input, trafficRetainedFrom(cursor.now));
    const bounds = computeBounds(window, cursor, interval, timezone);
    const byConsumer = consumer_id !== undefined || scope.consumerId !== undefined;
    const [rows, headers] = await Promise.all([
      this.repository.sums(scope, input, bounds, limit + 1),
      byConsumer ? this.coverage.describe(scope, bounds) : {},
    ]);
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    const records = toTrafficRecords(shown, bounds);
    const end = bounds.at(-1);
    const isPast = end === undefined ? endsInPast(cursor) : end * 1000 <= cursor.now;
    if (rows.length <= limit || !last)
      return new JsonResponse(framePage(records, undefined), isPast, undefined, headers);
    const token = await this.tokens.signNext(input.fingerprint, scope, {
      ...getTokenWindow(cursor, window),
      after: [last.start],
    });
    return new JsonResponse(framePage(records, token), isPast, token, headers);
  }
}

/**
 * The bounds of the periods to sum, in seconds since the epoch: the window's periods, without those of
 * earlier pages and without the period that the retention splits, which would count requests that must no
 * longer be shown.
 */
function computeBounds(
  { start, end }: Window,
  { now, token }: WindowCursor,
  interval: TrafficInterval,
  timezone: string,
): number[] {
  const retainedFrom = Math.ceil(trafficRetainedFrom(now) / 1000);
  const from = Math.max(
    periodStart(Math.floor(start / 1000), timezone, interval),
    firstWholePeriod(retainedFrom, timezone, interval),
  );
  // No request is in the future; a distant end would only create many empty periods.
  const to = Math.min(end, now + 2 * DAY_MS);
  const bounds = periodBounds(from, Math.ceil(to / 1000), timezone, interval);
  return token ? bounds.filter((bound) => bound > Number(token.after[0])) : bounds;
}

/** Both lists ascend, so the search for each period continues after the previous one. */
function toTrafficRecords(periods: readonly PeriodSums[], bounds: readonly number[]): string[] {
  let at = 0;
  return periods.map(({ start, json }) => {
    at = bounds.indexOf(start, at);
    const [from, to] = [start, bounds[at + 1] ?? start].map((bound) => formatSeconds(bound * 1000));
    return `{"period_start":"${from}","period_end":"${to}",${json}}`;
  });
}
