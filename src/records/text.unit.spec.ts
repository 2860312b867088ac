import fc from 'fast-check';
import { isLongerThan, normalizeMethod, sanitize, trimAndTruncate, truncate } from './text.js';

const anyText = fc.string({ unit: 'binary' });

describe('clean', () => {
  it.each([
    ['a\0b', 'a\uFFFDb'],
    ['a\uD83Db', 'a\uFFFDb'],
    ['\uDCA5', '\uFFFD'],
    ['💥 ü', '💥 ü'],
  ])('makes of %j the text %j', (text, expected) => {
    expect(sanitize(text)).toBe(expected);
  });

  it('gives text that UTF-8 carries unchanged', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(Buffer.from(sanitize(text)).toString()).toBe(sanitize(text));
      }),
    );
  });
});

describe('cut and exceeds', () => {
  it('keep the first code points of a text, and know whether there are more', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, max) => {
        const points = Array.from(text);
        expect(truncate(text, max)).toBe(points.slice(0, max).join(''));
        expect(isLongerThan(text, max)).toBe(points.length > max);
      }),
    );
  });
});

describe('trimAndTruncate', () => {
  it('gives text that trimming and cutting again does not change', () => {
    const text = fc.string({ unit: fc.constantFrom(' ', '\t', '\u00a0', 'a', '💥') });
    fc.assert(
      fc.property(text, fc.nat(40), (given, max) => {
        const once = trimAndTruncate(given, max);
        expect(trimAndTruncate(once, max)).toBe(once);
        expect(once).toBe(truncate(given.trim(), max).trim());
      }),
    );
  });
});

describe('normalizeMethod', () => {
  it.each([
    ['GET', 'GET'],
    ['get', 'GET'],
    ['M-SEARCH', 'M-SEARCH'],
    ['BASELINE-CONTROL', 'BASELINE-CONTROL'],
    ['UPDATEREDIRECTREF', 'UPDATEREDIRECTREF'],
    ['x2_y', 'X2_Y'],
    ['A'.repeat(32), 'A'.repeat(32)],
    ['_OTHER', '_OTHER'],
    ['_OTHERS', null],
    ['', null],
    ['GE T', null],
    ['G\u00c9T', null],
    ['1GET', null],
    ['-GET', null],
    ['GET|POST', null],
    ['A'.repeat(33), null],
  ])('reads the method %p as %p', (text, expected) => {
    expect(normalizeMethod(text)).toBe(expected);
  });
});
