import { Injectable } from '@nestjs/common';
import type { Account } from '../../platform/http/account.js';
import type { Window } from '../../shared/time/window.js';
import { createIssue, valueError } from '../../platform/input/issues.js';
import { ValidationException } from '../../platform/input/validation.exception.js';
import { readJsonLines } from '../../queries/files/json-lines.js';
import { QueryMetricsInput } from '../app-metrics/app-metrics.input.js';
import { AppMetricsService } from '../app-metrics/app-metrics.service.js';
import { listEnvConditions } from '../app-metrics/metric-condition.js';
import { planPeriods } from '../app-metrics/metric-periods.js';
import type { ChangedGroup, ComparedWindow, ExplainedChange } from './changes.dto.js';
import { ReleasesService } from '../releases/releases.service.js';
import type { ComparedWindows, ExplainChangeInput } from './changes.input.js';
import { type MetricsValues, matchGroups } from './groups.js';
import {
  type Change,
  DIMENSIONS,
  type DimensionName,
  type Moved,
  type QueryBoth,
  compare,
  countRequests,
  measureChange,
  readMeasure,
  sumRest,
} from './measure-change.js';

const unknownRelease = valueError('the app has no such release');

/** A larger number of groups is too much for a process that serves others as well. */
export const MAX_COMPARED_GROUPS = 100_000;

@Injectable()
export class ChangesService {
  constructor(
    private readonly metrics: AppMetricsService,
    private readonly releases: ReleasesService,
  ) {}

  /** Compares two windows: how the whole changed, and which groups changed it. */
  async explain(
    account: Account,
    input: ExplainChangeInput,
    dimensions: readonly DimensionName[] = DIMENSIONS,
  ): Promise<ExplainedChange> {
    const { measure, limit, filters, timezone, app_id, body } = input;
    const compared = input.compared ?? (await this.compareSinceRelease(account, input));
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
    const change = await measureChange(queryBoth, measure, limit, dimensions);
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

  /** @throws ValidationException if there is no such release, or a window does not start before its end */
  private async compareSinceRelease(
    account: Account,
    { app_id, filters, since_release: release = '', compareSince, body }: ExplainChangeInput,
  ): Promise<ComparedWindows> {
    const begin = await this.releases.findBegin(account, app_id, release, listEnvConditions(filters));
    const compared = begin === undefined ? undefined : compareSince(begin);
    if (compared && !Array.isArray(compared)) return compared;
    const [member, violation] = compared ?? ['since', unknownRelease];
    const issue =
      member === 'since'
        ? createIssue('body', 'since_release', release, violation)
        : createIssue('body', member, body, violation);
    throw new ValidationException([issue]);
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
