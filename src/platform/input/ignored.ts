import { findNearest } from '../../shared/nearest.js';
import type { Parameter } from './parameters.js';

/** The response header that names them. */
export const IGNORED = 'X-Ignored-Parameters';

const MAX_NAMED = 10;
/** Longer than each parameter, and shorter than a key or a token, which may have come to a wrong place. */
const MAX_NAME = 24;
const SHOWN_OF_LONGER = 8;
const UNSAFE = /[^\w.-]/g;
/** A suggestion shares most letters with the name. Every name contains some name of one or two letters. */
const MAX_EDITS = 0.4;
const MIN_COMPARED = 3;

/** Different names of one thing: GET and POST, and other APIs, have their own. */
const SYNONYMS = [
  ['start', 'since', 'from', 'start_time'],
  ['end', 'until', 'to', 'end_time'],
  ['app_env_id', 'filters', 'env', 'environment', 'env_id'],
  ['consumer_id', 'filters', 'consumer'],
  ['method', 'filters'],
  ['path', 'filters', 'url', 'route', 'endpoint'],
  ['status_code', 'filters', 'status', 'code'],
  ['limit', 'page_size', 'per_page'],
  ['next_token', 'after', 'cursor', 'page_token'],
  ['interval', 'granularity', 'period', 'step'],
  ['timezone', 'tz'],
  ['fields', 'columns'],
];

/**
 * Names the sent parameters that have no effect, each with the one that may be meant; undefined if there are
 * none. The text is bounded, and safe in a header.
 *
 * @param query the names of the query
 * @param body the names of the members of the body
 */
export function describeIgnored(
  parameters: readonly Parameter[],
  query: Iterable<string>,
  body: Iterable<string> = [],
): string | undefined {
  const isDeclared = (place: Parameter['in'], sent: string) =>
    parameters.some(({ in: at, name, older }) => at === place && (sent === name || sent === older?.name));
  const ignored = [
    ...Array.from(query, (name) => ({ name, isInBody: false })),
    ...Array.from(body, (name) => ({ name, isInBody: true })),
  ].filter(({ name, isInBody }) => !isDeclared(isInBody ? 'body' : 'query', name));
  if (ignored.length === 0) return undefined;
  // An operation has parameters in the query or in the body, never in both.
  const names = parameters.flatMap(({ in: at, name, older }) =>
    at === 'path' ? [] : [name, ...(older ? [older.name] : [])],
  );
  const described = ignored.slice(0, MAX_NAMED).map(({ name, isInBody }) => {
    const shown = showSafely(name);
    if (!isInBody && isDeclared('body', name)) return `${shown} (send it in the body)`;
    const meant = findMeant(name, names);
    return meant === undefined ? shown : `${shown} (did you mean ${meant}?)`;
  });
  const more = ignored.length - described.length;
  return [...described, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

function findMeant(name: string, names: readonly string[]): string | undefined {
  const lowerCase = name.toLowerCase();
  const synonyms = SYNONYMS.filter((group) => group.includes(lowerCase)).flat();
  const synonym = synonyms.find((other) => names.includes(other));
  return synonym ?? (name.length < MIN_COMPARED ? undefined : findNearest(name, names, 1, MAX_EDITS)[0]);
}

function showSafely(name: string): string {
  const shown = name.length > MAX_NAME ? `${name.slice(0, SHOWN_OF_LONGER)}...` : name;
  return shown.replace(UNSAFE, '?') || '(empty)';
}
