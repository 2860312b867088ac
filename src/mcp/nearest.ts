import { distance } from 'fastest-levenshtein';

const MAX_SHOWN = 3;
/** Longer texts are compared by their beginnings: the time is the product of both lengths. */
const MAX_COMPARED = 100;

/**
 * The names that are most like a text: those that contain it or are in it first, then by edits for each
 * character.
 */
export function findNearest(text: string, names: Iterable<string>, count = MAX_SHOWN): string[] {
  const wanted = normalize(text);
  const ranked = Array.from(new Set(names), (name) => {
    const normal = normalize(name);
    const contains = normal.includes(wanted) || (normal !== '' && wanted.includes(normal));
    const edits = distance(wanted, normal) / Math.max(wanted.length, normal.length, 1);
    return { name, rank: contains ? edits - 1 : edits };
  });
  return ranked
    .sort((one, other) => one.rank - other.rank)
    .slice(0, count)
    .map(({ name }) => name);
}

function normalize(text: string): string {
  return text.slice(0, MAX_COMPARED).toLowerCase();
}
