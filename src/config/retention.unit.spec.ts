import fc from 'fast-check';
import { DateTime } from 'luxon';
import { logsRetainedFrom, trafficRetainedFrom } from './retention.js';

describe('logsRetainedFrom', () => {
  it('is 15 days of 24 hours ago', () => {
    expect(logsRetainedFrom(Date.parse('2025-03-10T08:15:30.123Z'))).toBe(
      Date.parse('2025-02-23T08:15:30.123Z'),
    );
  });
});

describe('trafficRetainedFrom', () => {
  it.each([
    ['2025-06-20T08:15:30.123Z', '2024-05-20T08:15:30.123Z'],
    ['2025-01-20T00:00:00.000Z', '2023-12-20T00:00:00.000Z'],
    ['2026-03-31T12:00:00.000Z', '2025-02-28T12:00:00.000Z'],
    ['2025-03-31T12:00:00.000Z', '2024-02-29T12:00:00.000Z'],
  ])('at %s is %s', (now, expected) => {
    expect(trafficRetainedFrom(Date.parse(now))).toBe(Date.parse(expected));
  });

  it('counts months as luxon does, at any time', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.parse('2100-01-01T00:00Z') }), (now) => {
        const expected = DateTime.fromMillis(now, { zone: 'utc' }).minus({ months: 13 });
        expect(trafficRetainedFrom(now)).toBe(expected.toMillis());
      }),
    );
  });
});
