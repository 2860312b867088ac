import fc from 'fast-check';
import { parseExact, stringifyExact } from './exact-json.js';

describe('parseExact and stringifyExact', () => {
  it.each(['1735689600050000001', '9223372036854775807', '-12345678901234567890', '0.1234567890123456789'])(
    'keep the digits of %s anywhere',
    (number) => {
      const text = `{"a":[${number},1],"b":{"c":${number}}}`;
      expect(stringifyExact(parseExact(text))).toBe(text);
    },
  );

  it.each(['1.0', '1e3', '1E+400', '-0', '0.10', '100', '-1.5', '0'])(
    'keep the number %s of attributes as it stands',
    (number) => {
      const text = `{"attributes":{"a":${number},"b":[${number}],"c":true,"d":null,"e":"${number}"}}`;
      expect(stringifyExact(parseExact(text))).toBe(text);
    },
  );

  it('agree with JSON on every JSON text', () => {
    fc.assert(
      fc.property(fc.json(), fc.boolean(), (json, exact) => {
        const text = exact ? `{"attributes":${json}}` : json;
        expect(JSON.parse(stringifyExact(parseExact(text)))).toEqual(JSON.parse(text));
      }),
    );
  });

  it.each(['{"a":1,"a":2}', '{"attributes":1,"a":1,"a":2}'])('take the last of equal names in %s', (text) => {
    expect(parseExact(text)).toMatchObject({ a: 2 });
  });

  it.each(['', '{', '{"attributes":}', '{"a":1}x', '1234567890123456x', "{'a':1}", 'NaN'])(
    'refuse %p as no JSON',
    (text) => {
      expect(() => parseExact(text)).toThrow(SyntaxError);
    },
  );

  it('keep a member named __proto__ a member', () => {
    const text = '{"attributes":{"__proto__":{"a":1.0}}}';
    expect(stringifyExact(parseExact(text))).toBe(text);
  });
});
