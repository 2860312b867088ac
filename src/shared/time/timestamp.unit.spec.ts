import fc from 'fast-check';
import { formatSeconds, parseTimestamp, resolveTimestamp } from './timestamp.js';

const instant = (text: string) => ({ kind: 'instant', epochMs: Date.parse(text) });
const local = (text: string) => ({ kind: 'local', wallMs: Date.parse(`${text}Z`) });

describe('parseTimestamp', () => {
  it.each([
    ['a date', '2025-05-14', local('2025-05-14T00:00:00')],
    ['T', '2025-05-14T10:11:12', local('2025-05-14T10:11:12')],
    ['t', '2025-05-14t10:11:12', local('2025-05-14T10:11:12')],
    ['a space between', '2025-05-14 10:11:12', local('2025-05-14T10:11:12')],
    ['no seconds', '2025-05-14T10:11', local('2025-05-14T10:11:00')],
    ['no seconds, with an offset', '2025-05-14T10:11+02:00', instant('2025-05-14T08:11:00Z')],
    ['Z', '2025-05-14T10:11:12Z', instant('2025-05-14T10:11:12Z')],
    ['z', '2025-05-14T10:11:12z', instant('2025-05-14T10:11:12Z')],
    ['+hh:mm', '2025-05-14T10:11:12+02:30', instant('2025-05-14T07:41:12Z')],
    ['-hhmm', '2025-05-14T10:11:12-0230', instant('2025-05-14T12:41:12Z')],
    ['+hh', '2025-05-14T10:11:12+02', instant('2025-05-14T08:11:12Z')],
    ['-00:00', '2025-05-14T10:11:12-00:00', instant('2025-05-14T10:11:12Z')],
    ['the offset farthest east', '2025-05-14T00:00:00+23:59', instant('2025-05-13T00:01:00Z')],
    ['the offset farthest west', '2025-05-14T00:00:00-23:59', instant('2025-05-14T23:59:00Z')],
    ['a plus that became a space', '2025-05-14T10:11:12 02:00', instant('2025-05-14T08:11:12Z')],
    ['two spaces', '2025-05-14 10:11 0200', instant('2025-05-14T08:11:00Z')],
    ['one digit of a fraction', '2025-05-14T10:11:12.5', local('2025-05-14T10:11:12.500')],
    ['nine digits, cut', '2025-05-14T10:11:12.999999999Z', instant('2025-05-14T10:11:12.999Z')],
    ['a fraction below a millisecond', '2025-05-14T10:11:12.0009Z', instant('2025-05-14T10:11:12.000Z')],
    ['a fraction after a comma', '2025-05-14T10:11:12,25Z', instant('2025-05-14T10:11:12.250Z')],
    ['a leap day', '2024-02-29', local('2024-02-29T00:00:00')],
    ['the first year', '0000-01-01', local('0000-01-01T00:00:00')],
    ['a year of two digits', '0099-12-31', local('0099-12-31T00:00:00')],
    ['the last moment', '9999-12-31T23:59:59.999Z', instant('9999-12-31T23:59:59.999Z')],
    ['before the first year', '0000-01-01T00:00+00:01', instant('-000001-12-31T23:59:00Z')],
    ['after the last year', '9999-12-31T23:59-00:01', instant('+010000-01-01T00:00:00Z')],
  ])('reads %s: %s', (_, text, expected) => {
    expect(parseTimestamp(text)).toEqual(expected);
  });

  const extra = 'unexpected extra characters at the end of the input';
  it.each([
    ['', 'input is too short'],
    ['now', 'input is too short'],
    ['1747216', 'input is too short'],
    ['2025-05-1', 'input is too short'],
    ['1747216800', 'invalid date separator, expected `-`'],
    ['1747216800000', 'invalid date separator, expected `-`'],
    ['20250514T101112Z', 'invalid date separator, expected `-`'],
    [' 2025-05-14', 'invalid character in year'],
    ['+2025-05-14', 'invalid character in year'],
    ['２０２５-05-14', 'invalid character in year'],
    ['éééééé', 'invalid character in year'],
    ['10:11:12.000', 'invalid character in year'],
    ['2025/05/14', 'invalid date separator, expected `-`'],
    ['2025-05/14', 'invalid date separator, expected `-`'],
    ['2025-1a-03', 'invalid character in month'],
    ['2025-W20-3', 'invalid character in month'],
    ['2025-05-0a', 'invalid character in day'],
    ['2025-05-1\n', 'invalid character in day'],
    ['2025-00-14', 'month value is outside expected range of 1-12'],
    ['2025-13-14', 'month value is outside expected range of 1-12'],
    ['2025-05-00', 'day value is outside expected range'],
    ['2025-02-29', 'day value is outside expected range'],
    ['1900-02-29', 'day value is outside expected range'],
    ['2025-04-31T10:11', 'day value is outside expected range'],
    ['2025-05-14 ', extra],
    ['2025-05-14\n', extra],
    ['2025-05-14\0', extra],
    ['2025-05-14Z', extra],
    ['2025-05-14+02:00', extra],
    ['2025-05-14T', extra],
    ['2025-05-14T10', extra],
    ['2025-05-14_10:11', extra],
    ['2025-05-14  10:11', extra],
    ['2025-05-14T1:11', extra],
    ['2025-05-14T24:00', extra],
    ['2025-05-14T10:60', extra],
    ['2025-05-14T10:11:60', extra],
    ['2025-05-14T10:11:12.', extra],
    ['2025-05-14T10:11:12.1234567890', extra],
    ['2025-05-14T10:11.5', extra],
    ['2025-05-14T10:11:12+2', extra],
    ['2025-05-14T10:11:12+02:', extra],
    ['2025-05-14T10:11:12+02:0', extra],
    ['2025-05-14T10:11:12+24:00', extra],
    ['2025-05-14T10:11:12+02:60', extra],
    ['2025-05-14T10:11:12\u221202:00', extra],
    ['2025-05-14T10:11:12ZZ', extra],
    ['2025-05-14T10:11:12Z ', extra],
    ['2025-05-14T10:11:12[Europe/Berlin]', extra],
  ])('rejects %j: %s', (text, why) => {
    expect(parseTimestamp(text)).toEqual({ kind: 'invalid', reason: why });
  });

  it('reads back every moment that it can be shown, to the millisecond', () => {
    const moment = fc.date({
      min: new Date('0000-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(moment, (date) => {
        const epochMs = date.getTime();
        expect(parseTimestamp(date.toISOString())).toEqual({ kind: 'instant', epochMs });
        const seconds = parseTimestamp(formatSeconds(epochMs));
        expect(seconds).toEqual({ kind: 'instant', epochMs: Math.floor(epochMs / 1000) * 1000 });
      }),
    );
  });

  it('applies an offset in every form', () => {
    const parts = fc.record({
      hours: fc.integer({ min: 0, max: 23 }),
      minutes: fc.integer({ min: 0, max: 59 }),
      sign: fc.constantFrom('+', '-', ' '),
      colon: fc.constantFrom(':', ''),
    });
    fc.assert(
      fc.property(parts, ({ hours, minutes, sign, colon }) => {
        const two = (part: number) => String(part).padStart(2, '0');
        const east = (hours * 60 + minutes) * (sign === '-' ? -1 : 1);
        expect(parseTimestamp(`2025-05-14T10:00${sign}${two(hours)}${colon}${two(minutes)}`)).toEqual({
          kind: 'instant',
          epochMs: Date.UTC(2025, 4, 14, 10, -east),
        });
      }),
    );
  });

  it('accepts or rejects any text, and never throws', () => {
    const nearly = fc.stringMatching(/^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt _x][0-9:.,+Zz -]{0,20}$/);
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), nearly), (text) => {
        const parsed = parseTimestamp(text);
        if (parsed.kind === 'invalid') expect(parsed.reason).not.toBe('');
        else expect(Number.isSafeInteger(resolveTimestamp(parsed, 'Asia/Kathmandu'))).toBe(true);
      }),
    );
  });
});

describe('resolveTimestamp', () => {
  const at = (text: string, zone?: string) => {
    const parsed = parseTimestamp(text);
    if (parsed.kind === 'invalid') throw new Error(parsed.reason);
    return new Date(resolveTimestamp(parsed, zone)).toISOString();
  };

  it.each([
    ['UTC without a zone', '2025-05-14T10:00', undefined, '2025-05-14T10:00:00.000Z'],
    ['the local time of a zone', '2025-05-14T10:00:00.123', 'Europe/Berlin', '2025-05-14T08:00:00.123Z'],
    ['an instant in any zone', '2025-05-14T10:00Z', 'Europe/Berlin', '2025-05-14T10:00:00.000Z'],
    ['a zone 45 minutes off', '2025-05-14', 'Asia/Kathmandu', '2025-05-13T18:15:00.000Z'],
    ['a time DST skips: after the gap', '2025-03-30T02:30', 'Europe/Berlin', '2025-03-30T01:30:00.000Z'],
    ['a time DST repeats: the earlier', '2025-10-26T02:30', 'Europe/Berlin', '2025-10-26T00:30:00.000Z'],
    ['a gap of half an hour', '2025-10-05T02:15', 'Australia/Lord_Howe', '2025-10-04T15:45:00.000Z'],
    ['a midnight DST skips', '2025-09-07', 'America/Santiago', '2025-09-07T04:00:00.000Z'],
    ['a day that was skipped', '2011-12-30T12:00', 'Pacific/Apia', '2011-12-30T22:00:00.000Z'],
    ['the first year', '0000-01-01', 'Etc/GMT-14', '-000001-12-31T10:00:00.000Z'],
    ['the last year', '9999-12-31T23:59', 'Etc/GMT+12', '+010000-01-01T11:59:00.000Z'],
  ])('takes %s', (_, text, zone, expected) => {
    expect(at(text, zone)).toBe(expected);
  });
});

describe('formatSeconds', () => {
  it('cuts what is below a second', () => {
    expect(formatSeconds(Date.parse('2025-05-14T10:00:00.999Z'))).toBe('2025-05-14T10:00:00Z');
  });
});
