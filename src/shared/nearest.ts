import { distance } from 'fastest-levenshtein';

const MAX_SHOWN = 3;
/** Only the beginnings of longer texts are compared, because the time is the product of both lengths. */
const MAX_COMPARED = 100;

/**
 * The names most similar to a text: first names that contain it or that it contains, then by edits for each
 * character.
 *
 * @param maxEdits for each character, above which a name is left out
 */
export function findNearest(
  text: string,
  names: Iterable<string>,
  count = MAX_SHOWN,
  maxEdits = Infinity,
): string[] {
  const wanted = normalize(text);
  const ranked = Array.from(new Set(names), (name) => {
    const normal = normalize(name);
    const contains = normal.includes(wanted) || (normal !== '' && wanted.includes(normal));
    const edits = distance(wanted, normal) / Math.max(wanted.length, normal.length, 1);
    return { name, rank: contains ? edits - 1 : edits };
  });
  return ranked
    .filter(({ rank }) => rank <= maxEdits)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, count)
    .map(({ name }) => name);
}

function normalize(text: string): string {
  return text.slice(0, MAX_COMPARED).toLowerCase();
}
