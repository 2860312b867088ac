import fc from 'fast-check';
import { JsonLines } from './json-lines.js';

const objects = fc.array(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), { maxLength: 8 });
const toJsonLines = (rows: readonly unknown[]) =>
  new JsonLines(Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join('')));

describe('JsonLines', () => {
  it('finds its rows, with any content', () => {
    fc.assert(
      fc.property(objects, (rows) => {
        const lines = toJsonLines(rows);
        expect(lines).toHaveLength(rows.length);
        expect(rows.map((_, index) => lines.at(index))).toEqual(rows.map((row) => JSON.stringify(row)));
        expect(lines.at(rows.length)).toBe('');
      }),
    );
  });
});
