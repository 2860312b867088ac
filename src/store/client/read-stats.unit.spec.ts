import { parseSummary } from './read-stats.js';

describe('what a query read', () => {
  it.each([
    [
      { read_rows: '12', read_bytes: '3400', elapsed_ns: '1' },
      { rows: 12, bytes: 3400 },
    ],
    [
      { read_rows: 12, read_bytes: 3400 },
      { rows: 12, bytes: 3400 },
    ],
    [
      { read_rows: '-1', read_bytes: 'many' },
      { rows: 0, bytes: 0 },
    ],
    [{}, { rows: 0, bytes: 0 }],
    [null, { rows: 0, bytes: 0 }],
    [undefined, { rows: 0, bytes: 0 }],
  ])('is read from the summary %j', (summary, stats) => {
    expect(parseSummary(summary)).toEqual(stats);
  });
});
