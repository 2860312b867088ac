import { UsageError, readOptions, wants } from './options.js';

it.each([
  ['1m', 1_000_000],
  ['30m', 30_000_000],
  ['250k', 250_000],
])('--rows %s is %d rows', (text, rows) => {
  expect(readOptions(['--rows', text]).rows).toBe(rows);
});

it('has ten million rows, and nothing beside it, when nothing is said', () => {
  expect(readOptions([])).toMatchObject({ rows: 10_000_000, peers: false, keep: false, only: [] });
});

it.each([[['--rows', '10']], [['--rows', '1g']], [['--row', '1m']], [['more']]])('rejects %j', (args) => {
  expect(() => readOptions(args)).toThrow(UsageError);
});

it('takes the numbers of known requests, none among them', () => {
  expect(readOptions([]).knownCounts).toEqual([0, 1_000_000, 8_000_000, 30_000_000]);
  expect(readOptions(['--known', '0,250k']).knownCounts).toEqual([0, 250_000]);
  expect(() => readOptions(['--known', '0,5'])).toThrow(UsageError);
});

it('takes parts of IDs for --only', () => {
  const options = readOptions(['--only', 'page,import']);
  expect(['page-100', 'import', 'details'].filter((id) => wants(options, id))).toEqual([
    'page-100',
    'import',
  ]);
});
