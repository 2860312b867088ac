import fc from 'fast-check';
import { parseInteger } from './integer.js';
import { integerTooLong, notAnInteger } from './issues.js';

describe('parseInteger', () => {
  it.each([
    ['1', 1],
    ['+1', 1],
    ['-1', -1],
    ['0', 0],
    ['-0', 0],
    ['007', 7],
    ['1_000', 1000],
    ['0_0_1', 1],
    ['1.0', 1],
    ['1_000.000', 1000],
    [' 1.0 ', 1],
    ['\t1\r\n', 1],
    ['\x0b\x0c\x85\xa0\u3000\u20091\u2028', 1],
    ['2147483648', 2_147_483_648],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['9007199254740993', Number.MAX_SAFE_INTEGER],
    ['-9007199254740993', -Number.MAX_SAFE_INTEGER],
    ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
    ['9'.repeat(4300), Number.MAX_SAFE_INTEGER],
    [`${'0'.repeat(9000)}1`, 1],
    [`1.${'0'.repeat(9000)}`, 1],
  ])('reads %.20j as %d', (text, value) => {
    expect(parseInteger(text)).toBe(value);
  });

  it.each([
    ['', ' ', '+', '-', '.', '_', 'x', 'true', 'null', 'NaN', 'Infinity', 'undefined', '[object Object]'],
    ['1.5', '1e3', '0x10', '0b1', '1n', '1,000', '1.', '.0', '1.0.0', '1.0_0', '1 .0', '1. 0'],
    ['_1', '1_', '1__0', '+_1', '1_.0', '1._0', '+-1', '--1', '+ 1', '1 2', '1\n2', '1\0', '\x001'],
    ['١', '１', '²', '\u200b1', '\ufeff1', '\x1c1', '\x1f1'],
  ])('rejects %j and the like', (...texts) => {
    for (const text of texts) expect([text, parseInteger(text)]).toEqual([text, notAnInteger]);
  });

  it('rejects more digits than pydantic reads', () => {
    expect(parseInteger('9'.repeat(4301))).toBe(integerTooLong);
  });

  it('reads every way of writing an integer as that integer', () => {
    const blank = fc.stringMatching(/^[ \t\n\r\u00a0\u3000]{0,3}$/);
    const written = fc.record({
      value: fc.maxSafeInteger(),
      underscores: fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
      zeros: fc.nat({ max: 3 }),
      fraction: fc.constantFrom('', '.0', '.000'),
      plus: fc.constantFrom('', '+'),
      before: blank,
      after: blank,
    });
    fc.assert(
      fc.property(written, ({ value, underscores, zeros, fraction, plus, before, after }) => {
        const digits = Array.from('0'.repeat(zeros) + String(Math.abs(value)));
        const grouped = digits.map((digit, at) => (at > 0 && underscores[at % 20] ? `_${digit}` : digit));
        const text = `${before}${value < 0 ? '-' : plus}${grouped.join('')}${fraction}${after}`;
        expect(parseInteger(text)).toBe(value);
      }),
    );
  });

  it('accepts or rejects any text, without delay', () => {
    const malicious = fc.constantFrom(
      ' '.repeat(20_000) + 'x',
      '1_'.repeat(20_000),
      '1'.repeat(40_000) + 'x',
    );
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), malicious), (text) => {
        const value = parseInteger(text);
        expect(typeof value === 'number' ? Number.isSafeInteger(value) : value).toBeTruthy();
      }),
    );
  });
});
