import fc from 'fast-check';
import { addressOf, clean, cut, exceeds, methodOf } from './text.js';

const anyText = fc.string({ unit: 'binary' });

describe('clean', () => {
  it.each([
    ['a\0b', 'a\uFFFDb'],
    ['a\uD83Db', 'a\uFFFDb'],
    ['\uDCA5', '\uFFFD'],
    ['💥 ü', '💥 ü'],
  ])('makes of %j the text %j', (text, expected) => {
    expect(clean(text)).toBe(expected);
  });

  it('gives text that UTF-8 carries unchanged', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(Buffer.from(clean(text)).toString()).toBe(clean(text));
      }),
    );
  });
});

describe('cut and exceeds', () => {
  it('keep the first code points of a text, and know whether there are more', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, max) => {
        const points = Array.from(text);
        expect(cut(text, max)).toBe(points.slice(0, max).join(''));
        expect(exceeds(text, max)).toBe(points.length > max);
      }),
    );
  });
});

describe('addressOf', () => {
  it.each(['203.0.113.7', '2001:db8::1', '::ffff:203.0.113.7', 'fe80::1%eth0'])('keeps %s', (text) => {
    expect(addressOf(text)).toBe(text);
  });

  it.each([
    '',
    '-',
    'host.example',
    '203.0.113',
    '203.0.113.7:80',
    '[2001:db8::1]',
    `fe80::1%${'a'.repeat(64)}`,
  ])('finds no address in %p', (text) => {
    expect(addressOf(text)).toBeNull();
  });
});

describe('methodOf', () => {
  it.each([
    ['GET', 'GET'],
    ['get', 'GET'],
    ['M-SEARCH', 'M-SEARCH'],
    ['BASELINE-CONTROL', 'BASELINE-CONTROL'],
    ['', null],
    ['GE T', null],
    ['G\u00c9T', null],
    ['1GET', null],
    ['ABCDEFGHIJKLMNOPQ', null],
  ])('reads the method %p as %p', (text, expected) => {
    expect(methodOf(text)).toBe(expected);
  });
});
