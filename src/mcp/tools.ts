import { z } from 'zod';
import { GROUP_FIELDS } from '../api/app-metrics/app-metrics.input.js';
import { COMMON_METRICS } from '../api/app-metrics/metric-names.js';
import { MEASURES } from '../api/changes/measure-change.js';
import { EXPORT_FIELDS } from '../api/request-logs/export/export.input.js';
import { findNearest } from '../shared/nearest.js';
import { quoteName } from './untrusted-text.js';

/** Fewer tokens cannot hold the window, a row of long texts and the left-out parts. */
const LEAST_TOKENS = 1_000;
const MOST_TOKENS = 20_000;
const DEFAULT_MAX_TOKENS = 2_000;
const MAX_TEXT = 1024;

/** Fields of a row of `search_requests`. */
const REQUEST_FIELDS = [
  'consumer',
  ...EXPORT_FIELDS.filter((field) => field !== 'consumer' && field !== 'consumer_id'),
] as const;
export type RequestField = (typeof REQUEST_FIELDS)[number];

export const PARTS = [
  'url',
  'request_headers',
  'request_body_json',
  'response_headers',
  'response_body_json',
  'exception',
  'logs',
  'spans',
] as const;
export type Part = (typeof PARTS)[number];

/** Text of an argument. Its limits are not in the schema, where they would be repeated thirty times. */
const text = () =>
  z
    .string()
    .refine((value) => value.length >= 1 && value.length <= MAX_TEXT, `must have 1 to ${MAX_TEXT} characters`)
    // No name contains it, and a query cannot contain it.
    .refine((value) => value.isWellFormed(), 'must not have an unpaired surrogate');
/** One of a few words; an error names the most similar of them. */
const word = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, {
    error: ({ input }) =>
      typeof input === 'string'
        ? `there is no ${quoteName(input)}; nearest: ${findNearest(input, words).join(', ')}`
        : `must be one of ${words.join(', ')}`,
  });
/** The arguments of a tool; an error names the most similar argument. */
const args = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys
            .slice(0, 5)
            .map(
              (key) =>
                `there is no argument ${quoteName(key)}; nearest: ${findNearest(key, Object.keys(shape)).join(', ')}`,
            )
            .join('; ')
        : undefined,
  });

const common = {
  app: text().optional().describe('Name or ID; optional if only one'),
  max_tokens: z.int().min(LEAST_TOKENS).max(MOST_TOKENS).default(DEFAULT_MAX_TOKENS),
};
const windowed = {
  ...common,
  env: text().optional(),
  since: text().optional().describe('ISO 8601, 90m, 24h, 7d, today, monday. Default 24h'),
  until: text().optional().describe('Exclusive. Default now'),
  timezone: text().optional().describe('IANA name. Default UTC'),
  consumer: text().optional().describe('Identifier, name or ID'),
  method: text().optional(),
  path: text().optional().describe('Path pattern as `find` shows it; * is a wildcard'),
  status: text().optional().describe('Such as 5xx,404'),
};

export const INVENTORY_KINDS = ['deprecated', 'undocumented', 'never_called'] as const;
const FOUND_KINDS = ['app', 'env', 'endpoint', 'consumer', 'release', ...INVENTORY_KINDS] as const;

const FIND = args({
  query: text().optional().describe('Text in, or like, a name'),
  kind: word(FOUND_KINDS).optional(),
  app: text().optional(),
  limit: z.int().min(1).max(100).default(10),
  max_tokens: common.max_tokens,
});

const QUERY_METRICS = args({
  ...windowed,
  metrics: z
    .array(word(COMMON_METRICS))
    .min(1)
    .max(COMMON_METRICS.length)
    .default(['requests', 'error_rate', 'response_time_p95'])
    .describe('Response times in ms'),
  group_by: z.array(word(GROUP_FIELDS)).max(GROUP_FIELDS.length).default([]),
  interval: word(['minute', 'hour', 'day', 'month']).optional().describe('A row for each period'),
  top: z.int().min(1).max(1000).default(10).describe('Groups with the largest first metric'),
  ranked_since: text().optional().describe('From next'),
  compare: z.boolean().default(false).describe('Also the period before; not with interval'),
});

const SEARCH_REQUESTS = args({
  ...windowed,
  filters: z
    .array(
      z.strictObject({
        field: text().describe('As in fields, or consumer_id'),
        op: text().describe('eq, neq, gt, gte, lt, lte, in, contains, like, is_null, exists …'),
        value: z
          .union([z.string(), z.number(), z.array(z.union([z.string(), z.number()])).max(1000)])
          .optional(),
        key: text().optional().describe('Name of a header'),
      }),
    )
    .max(20)
    .default([]),
  fields: z.array(word(REQUEST_FIELDS)).max(REQUEST_FIELDS.length).optional(),
  order: word(['newest', 'oldest'])
    .optional()
    .describe('Default newest; with filters or captured fields only oldest'),
  limit: z.int().min(1).max(200).default(10),
  cursor: text().optional().describe('From next'),
});

const GET_REQUEST = args({
  ...common,
  request_uuid: text(),
  timezone: windowed.timezone,
  part: word(PARTS).optional().describe('Only this part'),
  offset: z.int().min(0).max(1e9).default(0).describe('Characters of the part to skip'),
});

const EXPLAIN_CHANGE = args({
  ...windowed,
  measure: word(MEASURES),
  since_release: text().optional().describe('Version; in place of since'),
  baseline_since: text().optional().describe('Default: the period before'),
  baseline_until: text().optional(),
  top: z.int().min(1).max(50).default(5).describe('Rows for each of endpoint, consumer, status'),
});

/** The arguments of other tools, which are described there. */
const QUERY_ERRORS = args({
  app: text().optional(),
  max_tokens: common.max_tokens,
  env: text().optional(),
  since: text().optional(),
  until: text().optional(),
  consumer: text().optional(),
  method: text().optional(),
  path: text().optional(),
  top: z.int().min(1).max(200).default(10),
});

export type FindArguments = z.infer<typeof FIND>;
export type MetricsArguments = z.infer<typeof QUERY_METRICS>;
export type SearchArguments = z.infer<typeof SEARCH_REQUESTS>;
export type GetRequestArguments = z.infer<typeof GET_REQUEST>;
export type ExplainArguments = z.infer<typeof EXPLAIN_CHANGE>;
export type ErrorsArguments = z.infer<typeof QUERY_ERRORS>;

/** The arguments of each tool with their defaults. */
export interface ToolArguments {
  find: FindArguments;
  metrics: MetricsArguments;
  search_requests: SearchArguments;
  get_request: GetRequestArguments;
  explain_change: ExplainArguments;
  errors: ErrorsArguments;
}

export type ToolName = keyof ToolArguments;

/**
 * The tools in the order in which an agent uses them. The descriptions never contain a name of an
 * application.
 */
export const TOOLS: Readonly<
  Record<ToolName, { description: string; inputSchema: z.ZodType<ToolArguments[ToolName]> }>
> = {
  find: {
    description: 'Find names of apps, environments, endpoints and consumers; others by kind. Begin here.',
    inputSchema: FIND,
  },
  metrics: {
    description:
      'Counts, errors, sizes and response times of a window: the total, top groups, or a series; with the period before.',
    inputSchema: QUERY_METRICS,
  },
  search_requests: {
    description: 'Single requests of the last 15 days that match all filters.',
    inputSchema: SEARCH_REQUESTS,
  },
  get_request: {
    description:
      'One request with headers, bodies, exception, logs and spans. Long parts are cut; part and offset read on.',
    inputSchema: GET_REQUEST,
  },
  explain_change: {
    description:
      'Compare two windows: which endpoint, consumer and status moved, and their shares of the change. For response_time shares are of requests slower than the baseline p95.',
    inputSchema: EXPLAIN_CHANGE,
  },
  errors: {
    description:
      'Errors and exceptions in groups: how often, for how many consumers, since when, one request. Arguments as of metrics.',
    inputSchema: QUERY_ERRORS,
  },
};
