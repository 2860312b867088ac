import { parseSpokenTime } from './spoken-time.js';

describe('parseSpokenTime', () => {
  // A Thursday. In New York the day of a change to winter time has 25 hours.
  const NOW = Date.parse('2026-11-26T14:05:00Z');

  it.each([
    ['90m', '2026-11-26T12:35:00Z'],
    ['2w', '2026-11-12T14:05:00Z'],
    ['today', '2026-11-26T00:00:00Z'],
    ['Yesterday', '2026-11-25T00:00:00Z'],
    ['thursday', '2026-11-26T00:00:00Z'],
    ['wednesday', '2026-11-25T00:00:00Z'],
    ['friday', '2026-11-20T00:00:00Z'],
    ['Monday', '2026-11-23T00:00:00Z'],
  ])('reads %s', (text, expected) => {
    expect(parseSpokenTime(text, NOW)).toBe(Date.parse(expected));
  });

  it.each([
    ['Asia/Tokyo', '2026-11-26T20:00:00Z', 'today', '2026-11-26T15:00:00Z'],
    ['America/New_York', '2026-11-02T12:00:00Z', 'yesterday', '2026-11-01T04:00:00Z'],
    ['America/New_York', '2026-11-02T12:00:00Z', 'today', '2026-11-02T05:00:00Z'],
  ])('reads days of %s', (timezone, now, text, expected) => {
    expect(parseSpokenTime(text, Date.parse(now), timezone)).toBe(Date.parse(expected));
  });

  it.each(['', 'tomorrow', 'mon', '7', '7 d', '-1d', '2026-11-20', '1234567m', 'constructor'])(
    'does not read %j',
    (text) => {
      expect(parseSpokenTime(text, NOW)).toBeUndefined();
    },
  );
});
