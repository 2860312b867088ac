import { parseSummary, parseSummaryHeader } from './read-stats.js';

describe('what a query read', () => {
  it.each([
    ['{"read_rows":"12","read_bytes":"3400","elapsed_ns":"1"}', { rows: 12, bytes: 3400 }],
    ['{"read_rows":12,"read_bytes":3400}', { rows: 12, bytes: 3400 }],
    ['{}', { rows: 0, bytes: 0 }],
    ['{"read_rows":"-1","read_bytes":"many"}', { rows: 0, bytes: 0 }],
    ['not JSON', { rows: 0, bytes: 0 }],
    ['null', { rows: 0, bytes: 0 }],
    [['a', 'list'], { rows: 0, bytes: 0 }],
    [undefined, { rows: 0, bytes: 0 }],
  ])('is read from the summary %j', (summary, stats) => {
    expect(parseSummaryHeader({ 'x-clickhouse-summary': summary })).toEqual(stats);
  });

  it('comes the same way from a connection without heads', () => {
    expect(parseSummary({ read_rows: '3', read_bytes: '4' })).toEqual({ rows: 3, bytes: 4 });
    expect(parseSummary(undefined)).toEqual({ rows: 0, bytes: 0 });
  });
});
