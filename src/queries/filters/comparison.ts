import type { Predicate } from '../predicates.js';
import type { Filter } from './filter.js';
import type { FilterField, FilterOperator } from './filter-field.js';

/** The expression of a field in the store. */
export interface FilterColumn {
  /** An expression of columns. */
  readonly sql: string;
  /** The condition for a record without a value; absent if every record has one. */
  readonly isNull?: string;
}

/** Each negative operator, which also matches records without a value, with its positive counterpart. */
const NEGATED: Partial<Readonly<Record<FilterOperator, FilterOperator>>> = {
  neq: 'eq',
  not_in: 'in',
  not_like: 'like',
  not_ilike: 'ilike',
  not_contains: 'contains',
  is_not_null: 'is_null',
  not_exists: 'exists',
};

const SYMBOLS: Partial<Readonly<Record<FilterOperator, string>>> = {
  eq: '=',
  gt: '>',
  gte: '>=',
  lt: '<',
  lte: '<=',
  in: 'IN',
  like: 'LIKE',
  ilike: 'ILIKE',
};

/** Whether the operator is negative, and its positive counterpart. */
export function splitNegation(op: FilterOperator): { op: FilterOperator; isNegated: boolean } {
  const positive = NEGATED[op];
  return { op: positive ?? op, isNegated: positive !== undefined };
}

/** The opposite of a condition. */
export function not({ sql, params }: Predicate): Predicate {
  return { sql: `NOT (${sql})`, params };
}

/**
 * A filter on a column. Positive operators never match records without a value, their negations always do.
 *
 * @param param name of the placeholder; each filter of a statement needs another name
 */
export function compare(
  { sql, isNull }: FilterColumn,
  { type }: FilterField,
  filter: Filter,
  param: string,
): Predicate {
  const { op, isNegated } = splitNegation(filter.op);
  const positive =
    op === 'is_null'
      ? { sql: isNull ?? 'false', params: {} }
      : comparePresent({ sql, isNull }, type, op, filter.value ?? '', param);
  return isNegated ? not(positive) : positive;
}

function comparePresent(
  { sql, isNull }: { sql: string; isNull: string | undefined },
  type: FilterField['type'],
  op: FilterOperator,
  value: NonNullable<Filter['value']>,
  param: string,
): Predicate {
  const placeholder = `{${param}:${Array.isArray(value) ? `Array(${type})` : type}}`;
  const symbol = SYMBOLS[op];
  const condition = symbol
    ? `${sql} ${symbol} ${placeholder}`
    : `positionCaseInsensitiveUTF8(${sql}, ${placeholder}) > 0`;
  const isPattern = (op === 'like' || op === 'ilike') && typeof value === 'string';
  return {
    sql: isNull === undefined ? condition : `(${condition} AND NOT (${isNull}))`,
    params: { [param]: isPattern ? toEnginePattern(value) : value },
  };
}

/**
 * Converts a pattern in which `\\` escapes any character to the engine's syntax, which only escapes `%`, `_`
 * and `\\`. Runs of `%` become one, because each costs time.
 */
function toEnginePattern(pattern: string): string {
  return pattern.replace(/\\(.)|%+/gsu, (token, escaped?: string) => {
    if (escaped === undefined) return token.startsWith('%') ? '%' : token;
    return /[\\%_]/.test(escaped) ? token : escaped;
  });
}

/**
 * A filter on an array of pairs of name and value. Positive operators hold if any value of that name matches;
 * negative operators hold if the name is present and none of its values matches; an array without the name
 * matches `not_exists` only.
 */
export function compareHeaders(sql: string, kind: FilterField, filter: Filter, param: string): Predicate {
  const { op, isNegated } = splitNegation(filter.op);
  const params = { [`${param}_key`]: filter.key ?? '' };
  const exists = (condition: string) =>
    `arrayExists(header -> lower(header.1) = {${param}_key:String}${condition}, ${sql})`;
  if (op === 'exists') return { sql: `${isNegated ? 'NOT ' : ''}${exists('')}`, params };
  const match = compare({ sql: 'header.2' }, kind, { ...filter, op }, param);
  const anyMatches = exists(` AND ${match.sql}`);
  return {
    sql: isNegated ? `(${exists('')} AND NOT ${anyMatches})` : anyMatches,
    params: { ...params, ...match.params },
  };
}
