import fc from 'fast-check';
import { pathMatches, statusIn } from '../../src/queries/predicates.js';
import { type OpenStore, openEmptyStore } from '../setup/store.js';

/** Letters of both cases, and everything that some pattern language gives a meaning. */
const characters = fc.constantFrom(...Array.from('aAb/{}%_\\?.+-[]()|^$\'"\n*é🚀 '));
const patterns = fc
  .array(fc.oneof(characters, fc.constant('*')), { minLength: 1, maxLength: 8 })
  .map((parts) => parts.join(''));
const paths = fc.array(characters, { maxLength: 8 }).map((parts) => parts.join(''));

/** The rule of the contract (docs/contract.md#path-filter), character by character. */
function matches(pattern: string, path: string): boolean {
  const [first, ...rest] = Array.from(pattern);
  if (first === undefined) return path === '';
  if (first !== '*') return path.startsWith(first) && matches(rest.join(''), path.slice(first.length));
  const ends = [...Array.from(path).keys(), Array.from(path).length];
  return ends.some((at) => matches(rest.join(''), Array.from(path).slice(at).join('')));
}

describe('filters, read by the engine', () => {
  let open: OpenStore;

  beforeAll(async () => {
    open = await openEmptyStore();
  });

  afterAll(() => open.remove());

  it('match a path against the whole pattern, in which only * means anything', async () => {
    await fc.assert(
      fc.asyncProperty(patterns, fc.array(paths, { maxLength: 20 }), async (pattern, drawn) => {
        // Most random paths match nothing: these are made from the pattern.
        const made = ['', '/', 'a*%'].map((filling) => pattern.replaceAll('*', filling));
        const candidates = [
          ...drawn,
          ...made,
          ...made.map((path) => `${path}a`),
          ...made.map((path) => path.toUpperCase()),
        ];
        const { sql, params } = pathMatches(pattern)!;
        const found = await open.store.rows<{ path: string }>(
          'test.paths',
          `SELECT path FROM (SELECT arrayJoin({candidates:Array(String)}) AS path) WHERE ${sql}`,
          { ...params, candidates },
        );
        const expected = candidates.filter((path) => matches(pattern, path));
        expect(found.map(({ path }) => path).sort()).toEqual(expected.sort());
      }),
      { numRuns: 150 },
    );
  });

  it('match a status against any of the codes and classes', async () => {
    const item = fc.oneof(
      fc.integer({ min: 0, max: 999 }).map((code) => String(code).padStart(3, '0')),
      fc.integer({ min: 0, max: 9 }).map((digit) => `${digit}xx`),
      fc.constantFrom('200', '404', '2xx', '4xx'),
    );
    const statuses = [0, 1, 99, 100, 199, 200, 204, 299, 300, 400, 404, 499, 500, 599, 600, 999];
    await fc.assert(
      fc.asyncProperty(fc.array(item, { minLength: 1, maxLength: 5 }), async (items) => {
        const { sql, params } = statusIn(items.join())!;
        const found = await open.store.rows<{ status_code: number }>(
          'test.statuses',
          `SELECT status_code FROM (SELECT arrayJoin({statuses:Array(UInt16)}) AS status_code) WHERE ${sql}`,
          { ...params, statuses },
        );
        const wanted = new RegExp(`^(?:${items.join('|').replaceAll('x', '\\d')})$`);
        const expected = statuses.filter((status) => wanted.test(String(status).padStart(3, '0')));
        expect(found.map(({ status_code }) => status_code)).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });
});
