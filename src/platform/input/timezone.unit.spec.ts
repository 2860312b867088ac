import fc from 'fast-check';
import { unknownTimezone } from './issues.js';
import { parseTimezone } from './timezone.js';

describe('parseTimezone', () => {
  it('knows every zone that the runtime knows', () => {
    for (const zone of Intl.supportedValuesOf('timeZone')) expect(parseTimezone(zone)).toBe(zone);
  });

  it.each([
    ['UTC', 'UTC'],
    ['utc', 'UTC'],
    ['europe/berlin', 'Europe/Berlin'],
    ['AMERICA/PORT-AU-PRINCE', 'America/Port-au-Prince'],
    ['US/Eastern', 'US/Eastern'],
    ['Europe/Kyiv', 'Europe/Kyiv'],
    ['Etc/GMT+12', 'Etc/GMT+12'],
    ['America/Argentina/ComodRivadavia', 'America/Argentina/ComodRivadavia'],
  ])('reads %s as %s', (text, zone) => {
    expect(parseTimezone(text)).toBe(zone);
  });

  it.each([
    ['', ' ', 'Z', 'Mars/Olympus', 'Europe/Berlin ', ' Europe/Berlin', 'Europe/Berlin\0', 'Europe\\Berlin'],
    ['+02:00', '-0200', '+02', ' 02:00', 'GMT+2', 'UTC+02:00', '2025-05-14T10:00Z', '10:00[Europe/Berlin]'],
    ['Europe/../Europe/Berlin', '../etc/passwd', 'Europe', 'Europe/', '/', 'PST', 'Local', 'localtime'],
    ['Europe/Berlin'.repeat(10_000), 'a'.repeat(65), 'Еurope/Berlin', '__proto__', 'constructor'],
  ])('does not know %.30j and the like', (...texts) => {
    for (const text of texts) expect([text, parseTimezone(text)]).toEqual([text, unknownTimezone]);
  });

  it('accepts or rejects any text, and never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const zone = parseTimezone(text);
        expect(zone === unknownTimezone || typeof zone === 'string').toBe(true);
      }),
    );
  });
});
