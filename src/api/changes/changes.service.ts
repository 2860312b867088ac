import { Injectable } from '@nestjs/common';
import type { Account } from '../../platform/http/account.js';
import type { Window } from '../../shared/time/window.js';
import { readJsonLines } from '../../queries/files/json-lines.js';
import { QueryMetricsInput } from '../app-metrics/app-metrics.input.js';
import { AppMetricsService } from '../app-metrics/app-metrics.service.js';
import { planPeriods } from '../app-metrics/metric-periods.js';
import type { ChangedGroup, ComparedWindow, ExplainedChange } from './changes.dto.js';
import type { ExplainChangeInput } from './changes.input.js';
import { type MetricsValues, matchGroups } from './groups.js';
import {
  type Change,
  type Moved,
  type QueryBoth,
  compare,
  countRequests,
  measureChange,
  readMeasure,
  sumRest,
} from './measure-change.js';

/** A larger number of groups is too much for a process that serves others as well. */
export const MAX_COMPARED_GROUPS = 100_000;

@Injectable()
export class ChangesService {
  constructor(private readonly metrics: AppMetricsService) {}

  /** Compares two windows: how the whole changed, and which groups changed it. */
  async explain(account: Account, input: ExplainChangeInput): Promise<ExplainedChange> {
    const { measure, limit, filters, timezone, app_id, compared, body } = input;
    const queryBoth: QueryBoth = async (metrics, group_by, threshold) => {
      const read = async ({ start, end }: Window) => {
        const query = Object.assign(new QueryMetricsInput(), {
          app_id,
          body,
          metrics,
          group_by,
          filters,
          timezone,
          window: { since: start, until: end, now: compared.now },
          ...(threshold !== undefined && { apdex_threshold_ms: threshold }),
        });
        const options = { maxRows: MAX_COMPARED_GROUPS, countsTimed: threshold !== undefined };
        return readJsonLines<MetricsValues>(await this.metrics.query(account, query, 'ndjson', options));
      };
      const rows = await Promise.all([read(compared.window), read(compared.baseline)]);
      return matchGroups(...rows, group_by);
    };
    const change = await measureChange(queryBoth, measure, limit);
    const findCounted = (window: Window) => describeCounted(window, compared.now);
    return {
      measure,
      window: findCounted(compared.window),
      baseline: findCounted(compared.baseline),
      slow_from_ms: change.slowFromMs ?? null,
      total: describe(change, change.whole),
      data: change.dimensions.flatMap(({ name, groupBy, shown }) =>
        shown.map((group): ChangedGroup => ({
          dimension: name,
          ...Object.fromEntries(
            groupBy.map((field) => [field, (group.now ?? group.before)?.[field] ?? null]),
          ),
          ...describe(change, group),
        })),
      ),
      others: change.dimensions
        .filter(({ rest }) => rest.length > 0)
        .map((dimension) => ({
          dimension: dimension.name,
          groups: dimension.rest.length,
          share: change.share(sumRest(dimension)),
        })),
    };
  }
}

function describe({ measure, share }: Change, { now, before, contribution }: Moved) {
  const values = compare(readMeasure(measure, now), readMeasure(measure, before));
  return {
    now: values[0],
    before: values[1],
    change: values[2],
    share: share(contribution),
    requests: countRequests(now),
    requests_before: countRequests(before),
  };
}

/** The part of a window that Query Metrics counts; null if there is none. */
function describeCounted({ start, end }: Window, now: number): ComparedWindow | null {
  const { bounds } = planPeriods({
    since: start,
    until: end,
    now,
    interval: undefined,
    timezone: 'UTC',
    byConsumer: false,
  });
  const [first, last] = bounds;
  if (first === undefined || last === undefined) return null;
  return { since: new Date(first * 1000).toISOString(), until: new Date(last * 1000).toISOString() };
}
