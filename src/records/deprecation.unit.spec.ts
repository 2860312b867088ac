import { EMPTY_CAPTURE, type Header, toCaptureJson } from './capture.js';
import { findDeprecation } from './deprecation.js';

const AT = Date.UTC(2026, 10, 27);
const find = (...response_headers: Header[]) =>
  findDeprecation(toCaptureJson({ ...EMPTY_CAPTURE, response_headers }), AT);
const now = AT / 1000;
const later = Date.UTC(2027, 5, 30, 23, 59, 59) / 1000;

describe('findDeprecation', () => {
  it.each<[string, Header[], object]>([
    ['a date of RFC 9745', [['Deprecation', '@1688169599']], { deprecated_at: 1_688_169_599, sunset_at: 0 }],
    ['true, as in drafts', [['deprecation', 'true']], { deprecated_at: now, sunset_at: 0 }],
    ['a boolean of structured fields', [['deprecation', '?1']], { deprecated_at: now, sunset_at: 0 }],
    [
      'an HTTP date, as in drafts',
      [['Deprecation', 'Wed, 30 Jun 2027 23:59:59 GMT']],
      { deprecated_at: later, sunset_at: 0 },
    ],
    ['a version, as in drafts', [['deprecation', 'version="v1"']], { deprecated_at: now, sunset_at: 0 }],
    [
      'a sunset of RFC 8594',
      [['SUNSET', 'Wed, 30 Jun 2027 23:59:59 GMT']],
      { deprecated_at: 0, sunset_at: later },
    ],
    [
      'both',
      [
        ['x', 'y'],
        ['Sunset', 'Wed, 30 Jun 2027 23:59:59 GMT'],
        ['Deprecation', '@0001688169599'],
      ],
      { deprecated_at: 1_688_169_599, sunset_at: later },
    ],
    [
      'a time beyond the column',
      [['Sunset', 'Wed, 30 Jun 9999 23:59:59 GMT']],
      { deprecated_at: 0, sunset_at: 2 ** 32 - 1 },
    ],
  ])('reads %s', (_, headers, expected) => {
    expect(find(...headers)).toEqual(expected);
  });

  it.each<[string, Header[]]>([
    ['no headers', []],
    ['other headers', [['x-deprecation', 'true']]],
    ['values with these names', [['x', '["deprecation","true"]']]],
    ['false', [['deprecation', 'false']]],
    ['a boolean that is false', [['deprecation', '?0']]],
    ['an empty value', [['deprecation', ' ']]],
    ['a sunset that is no date', [['sunset', 'soon 7']]],
    ['a sunset that is a number', [['sunset', '1']]],
    ['a sunset before the epoch', [['sunset', 'Wed, 30 Jun 1960 23:59:59 GMT']]],
  ])('finds nothing in %s', (_, headers) => {
    expect(find(...headers)).toBeUndefined();
  });

  it('does not read the headers of the request, nor bodies', () => {
    const text = JSON.stringify({ response_headers: [['deprecation', 'true']], request_body_json: null });
    const capture = {
      ...EMPTY_CAPTURE,
      request_headers: [['deprecation', 'true']] as Header[],
      request_body_json: text,
    };
    expect(findDeprecation(toCaptureJson(capture), AT)).toBeUndefined();
    expect(findDeprecation('', AT)).toBeUndefined();
  });
});
