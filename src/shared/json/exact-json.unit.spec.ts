import fc from 'fast-check';
import { LosslessNumber, parse } from 'lossless-json';
import { parseExact, stringifyExact } from './exact-json.js';

describe('parseExact and stringifyExact', () => {
  it.each(['1735689600050000001', '9223372036854775807', '-12345678901234567890', '0.1234567890123456789'])(
    'keep the digits of %s anywhere',
    (number) => {
      const text = `{"a":[${number},1],"b":{"c":${number}}}`;
      expect(stringifyExact(parseExact(text))).toBe(text);
    },
  );

  it('keep the digits of a long number at any place, and of a shorter one its value', () => {
    for (let place = 0; place < 40; place++) {
      const write = (number: string) => `{"${'a'.repeat(place)}":${number}}`;
      const long = write('1735689600050001');
      expect(stringifyExact(parseExact(long))).toBe(long);
      expect(parseExact(write('173568960005000.0'))).toEqual(JSON.parse(write('173568960005000')));
    }
  });

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
        // Not JSON.parse: see the names below.
        const values = (json: string) => parse(json, null, Number);
        expect(values(stringifyExact(parseExact(text)))).toEqual(values(text));
      }),
    );
  });

  it.each(['{"a":1,"a":2}', '{"attributes":1,"a":1,"a":2}'])('take the last of equal names in %s', (text) => {
    expect(parseExact(text)).toMatchObject({ a: 2 });
  });

  // After the same members Node 24's JSON.parse takes an escaped name for the one it saw there last
  // (nodejs/node#63785).
  it.each([
    ['\\\\', '\\ud800', '\ud800'],
    ['\\\\', '\\n', '\n'],
    ['a\\\\', 'a\\"', 'a"'],
    ['\\\\u00', '\\u00fcber', 'über'],
  ])('keep the names %s and %s apart', (seenName, escaped, name) => {
    for (const object of ['attributes', 'other'])
      for (const number of ['1', '1.0']) {
        // New to the engine, which learns from all that it parses.
        const first = `"${object}${number}${seenName.length}${escaped.length}"`;
        parseExact(`{"${object}":{${first}:0,"${seenName}":${number}}}`);
        const value = parseExact(`{"${object}":{${first}:0,"${escaped}":${number}}}`) as Record<
          string,
          object
        >;
        expect(Object.keys(value[object]!)[1]).toBe(name);
      }
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

  const nested = (levels: number) => `{"attributes":${'['.repeat(levels - 1)}1.0${']'.repeat(levels - 1)}}`;

  it('take 2,000 levels', () => {
    expect(stringifyExact(parseExact(nested(2_000)))).toBe(nested(2_000));
  });

  it.each([2_001, 1_000_000])('refuse %d levels as nested too deeply', (levels) => {
    expect(() => parseExact(nested(levels))).toThrow(RangeError);
  });
});

/** What `parseExact` is a quick form of: a parser that gives each number to a function as it stands. */
const bySlowParser = (text: string): unknown =>
  parse(text, null, {
    parseNumber: (number) =>
      String(Number(number)) === number ? Number(number) : new LosslessNumber(number),
    onDuplicateKey: ({ newValue }) => newValue,
  });

describe('parseExact', () => {
  /** The name makes all digits count. */
  const asked = (json: string) => `{"attributes":${json}}`;
  const outcome = (read: (text: string) => unknown, text: string) => {
    try {
      const value = read(text);
      return { value, written: stringifyExact(value) };
    } catch (error) {
      return (error as Error).constructor;
    }
  };
  const space = fc.stringMatching(/^[ \t\r\n]{0,2}$/);
  const number = fc.oneof(
    fc.stringMatching(/^-?(0|[1-9]\d{0,22})(\.\d{1,20})?([eE][-+]?\d{1,3})?$/),
    fc.constantFrom('-0', '0.0', '1.0', '1e5', '1E400', '-1e-400', '1735689600050000001', '9007199254740993'),
  );
  const quoted = fc.oneof(
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    fc.constantFrom(
      '"__proto__"',
      '"a"',
      '"1"',
      '"\\u0000"',
      '"\\\\"',
      '"\\"1.0\\""',
      '"[1.0,-0]"',
      '"\\ud800"',
      '""',
    ),
  );
  const { json } = fc.letrec<{ json: string; list: string; members: string }>((tie) => ({
    json: fc
      .tuple(
        space,
        fc.oneof(
          { maxDepth: 4 },
          number,
          quoted,
          fc.constantFrom('true', 'false', 'null'),
          tie('list'),
          tie('members'),
        ),
        space,
      )
      .map((parts) => parts.join('')),
    list: fc.array(tie('json'), { maxLength: 4 }).map((items) => `[${items.join()}]`),
    members: fc
      .array(fc.tuple(quoted, space, tie('json')), { maxLength: 5 })
      .map((members) => `{${members.map(([name, gap, value]) => `${name}${gap}:${value}`).join()}}`),
  }));

  it('reads every JSON text as a parser of its numbers does, and it is written the same', () => {
    fc.assert(
      fc.property(json, (text) => {
        expect(outcome(parseExact, asked(text))).toStrictEqual(outcome(bySlowParser, asked(text)));
      }),
      { numRuns: 2_000 },
    );
  });

  it('rejects and takes what such a parser does, of texts that are almost JSON', () => {
    const edit = fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom(...Array.from('"\\[]{},:-+.eE019x \n\u0001')));
    fc.assert(
      fc.property(json, fc.array(edit, { minLength: 1, maxLength: 3 }), (text, edits) => {
        const edited = edits.reduce((before, [at, removed, added]) => {
          const from = at % (before.length + 1);
          return before.slice(0, from) + added + before.slice(from + removed);
        }, text);
        expect(outcome(parseExact, asked(edited))).toStrictEqual(outcome(bySlowParser, asked(edited)));
      }),
      { numRuns: 3_000 },
    );
  });
});
