import fc from 'fast-check';
import { JsonLines } from '../../store/client/json-lines.js';
import { frameLines } from './page.dto.js';

const objects = fc.array(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), { maxLength: 8 });
const toJsonLines = (rows: readonly unknown[]) =>
  new JsonLines(Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join('')));

describe('frameLines', () => {
  it('gives the first rows of several results as the data of a page', () => {
    fc.assert(
      fc.property(fc.array(objects, { maxLength: 3 }), fc.integer({ min: 1, max: 20 }), (answers, limit) => {
        const rows = JsonLines.join(answers.map(toJsonLines));
        const all = answers.flat();
        expect(rows).toHaveLength(all.length);
        const texts = all.slice(0, limit).map((row) => JSON.stringify(row));
        expect(frameLines(rows, limit, undefined).toString()).toBe(
          `{"data":[${texts.join()}],"has_more":false}`,
        );
        expect(frameLines(rows, limit, 'abc').toString()).toBe(
          `{"data":[${texts.join()}],"has_more":true,"next_token":"abc"}`,
        );
      }),
    );
  });
});
