/** Largest number of attributes of a consumer; those beyond are left out. */
export const MAX_CONSUMER_ATTRIBUTES = 50;

type Changes = Record<string, string | null>;

/**
 * Applies changes to the attributes of a consumer.
 *
 * @param attributes JSON text: an object of strings; empty if there are none
 * @param changes JSON texts in their order: `null` removes an attribute
 * @returns the same form as `attributes`, sorted by name
 */
export function changeAttributes(attributes: string, changes: readonly string[]): string {
  if (changes.length === 0) return attributes;
  const values = new Map(Object.entries(JSON.parse(attributes || '{}') as Changes));
  for (const change of changes)
    for (const [name, value] of Object.entries(JSON.parse(change) as Changes))
      if (value === null) values.delete(name);
      else if (values.has(name) || values.size < MAX_CONSUMER_ATTRIBUTES) values.set(name, value);
  const sorted = [...values].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.length === 0 ? '' : JSON.stringify(Object.fromEntries(sorted));
}
