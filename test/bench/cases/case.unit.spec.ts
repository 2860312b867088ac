import { type Case, buildPath, moved, peerTime } from './case.js';

const START = Date.UTC(2026, 10, 6, 12);
const moving: Case = {
  id: 'page',
  title: '',
  compared: [],
  start: START,
  paths: ['/logs?start={start}&limit=100'],
};
const fixed: Case = { id: 'details', title: '', compared: [], paths: ['/a', '/b'] };

it('asks each time for a window of its own', () => {
  expect(buildPath(moving, 0)).toBe('/logs?start=2026-11-06T12:00:00.000Z&limit=100');
  expect(buildPath(moving, 7)).toBe('/logs?start=2026-11-06T12:00:00.007Z&limit=100');
});

it('moves the same window in the text of a recorded statement, and nothing else', () => {
  const sql = `WHERE at >= toInt64(${START}) AND id = 1`;
  expect(moved(sql, moving, 7)).toBe(`WHERE at >= toInt64(${START + 7}) AND id = 1`);
  expect(moved(sql, fixed, 7)).toBe(sql);
});

it('takes fixed requests in turn', () => {
  expect([0, 1, 2].map((nth) => buildPath(fixed, nth))).toEqual(['/a', '/b', '/a']);
});

it('writes times for the other databases in UTC, without an offset', () => {
  expect(peerTime(START + 5)).toBe('2026-11-06 12:00:00.005');
});
