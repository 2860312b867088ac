import type { GroupField } from '../app-metrics/app-metrics.input.js';

/** A row of metrics: times are text, a group field may be null, as in Query Metrics. */
export type MetricsValues = Readonly<Record<string, string | number | null>> & {
  readonly period_start: string;
  readonly period_end: string;
};

/** The values of one group in the window, and in the baseline. */
export interface Group {
  readonly now: MetricsValues | undefined;
  readonly before: MetricsValues | undefined;
}

export function buildGroupKey(row: MetricsValues | undefined, groupBy: readonly GroupField[]): string {
  return JSON.stringify(groupBy.map((field) => row?.[field] ?? null));
}

/** The groups that are in either of two windows. */
export function matchGroups(
  now: readonly MetricsValues[],
  before: readonly MetricsValues[],
  groupBy: readonly GroupField[],
): Group[] {
  const groups = new Map<string, Group>();
  for (const row of now) groups.set(buildGroupKey(row, groupBy), { now: row, before: undefined });
  for (const row of before) {
    const key = buildGroupKey(row, groupBy);
    groups.set(key, { now: groups.get(key)?.now, before: row });
  }
  return [...groups.values()];
}

/** Rates are rounded to four digits; counts and milliseconds are whole. */
export function toNumber(value: string | number | null | undefined): number | null {
  if (value === null || value === undefined) return null;
  const number = Number(value);
  return Number.isInteger(number) ? number : Number(number.toPrecision(4));
}
