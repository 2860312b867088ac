import fc from 'fast-check';
import { parseTimestamp, resolveTimestamp } from '../../shared/time/timestamp.js';
import { parseIngestTimestamp } from './timestamps.js';

/** As the API reads timestamps. */
function expected(text: string): number | null {
  const timestamp = parseTimestamp(text);
  const epochMs = timestamp.kind === 'invalid' ? NaN : resolveTimestamp(timestamp);
  return epochMs >= 0 && epochMs < Date.UTC(2100, 0, 1) ? epochMs : null;
}

describe('parseIngestTimestamp', () => {
  it('reads every text of the form that the API gives as the API reads it', () => {
    const digits = (max: number, width: number) =>
      fc.nat(max).map((number) => String(number).padStart(width, '0'));
    const date = fc.tuple(digits(2110, 4), digits(14, 2), digits(33, 2)).map((parts) => parts.join('-'));
    const time = fc.tuple(digits(25, 2), digits(61, 2), digits(61, 2)).map((parts) => parts.join(':'));
    fc.assert(
      fc.property(date, time, digits(999, 3), (day, hour, ms) => {
        const text = `${day}T${hour}.${ms}Z`;
        expect([text, parseIngestTimestamp(text)]).toEqual([text, expected(text)]);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['2024-02-29T23:59:59.999Z', Date.UTC(2024, 1, 29, 23, 59, 59, 999)],
    ['1970-01-01T00:00:00.000Z', 0],
    ['2099-12-31T23:59:59.999Z', Date.UTC(2100, 0, 1) - 1],
    ['2100-01-01T00:00:00.000Z', null],
    ['2025-02-29T00:00:00.000Z', null],
    ['2025-00-10T00:00:00.000Z', null],
    ['2025-13-10T00:00:00.000Z', null],
    ['2025-04-31T00:00:00.000Z', null],
    ['2025-04-00T00:00:00.000Z', null],
    ['0070-01-01T00:00:00.000Z', null],
    ['2025-04-30T24:00:00.000Z', null],
    ['2025-04-30T23:60:00.000Z', null],
    ['2025-04-30T23:59:60.000Z', null],
    ['2025-04-30T23:59:59.000+00:00', Date.UTC(2025, 3, 30, 23, 59, 59)],
    ['yesterday', null],
  ])('reads %s as %p', (text, epochMs) => {
    expect(parseIngestTimestamp(text)).toBe(epochMs);
  });
});
