import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { type OpenStore, describeEmbedded, openEmptyStore } from '../setup/store.js';
import {
  type ParameterValue,
  renderLiteral,
  renderParameters,
} from '../../src/store/client/query-parameters.js';

/** Any text that UTF-8 can carry, rather often with what means something in SQL. */
const pieces = fc.constantFrom(
  "'",
  "''",
  '\\',
  '\\\\',
  "\\'",
  '\0',
  '{value:String}',
  '{other:UInt8}',
  '{',
  '}',
  '--',
  '/*',
  '*/',
  ';',
  '"',
  '`',
  '\n',
  '\\n',
  '\\x00',
  '\\0',
  '%',
  '\u2028',
  '\u{1F680}',
  "') UNION ALL SELECT sleep(3) --",
);
const texts = fc
  .array(fc.oneof(pieces, fc.string({ unit: 'binary', maxLength: 8 })), { maxLength: 12 })
  .map((parts) => parts.join(''));
const uuids = fc.uuid();
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

describe('literal', () => {
  it('is one quoted literal for any text, which ends at its last quote and not before', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(renderLiteral('String', text)).toMatch(/^'(?:[^'\\\0]|\\[\\'0])*'$/);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each<[string, ParameterValue]>([
    ['String', 1],
    ['String', true],
    ['String', ['a']],
    ['UInt8', 256],
    ['UInt8', -1],
    ['Int8', 128],
    ['Int8', -129],
    ['UInt32', 4_294_967_296],
    ['UInt32', 1.5],
    ['UInt32', NaN],
    ['UInt32', Infinity],
    ['UInt32', '1'],
    ['UInt32', '1; DROP TABLE x'],
    ['Int64', 9_007_199_254_740_992],
    ['Int64', 2n ** 63n],
    ['UInt64', 2n ** 64n],
    ['UUID', ''],
    ['UUID', '00000000-0000-0000-0000-00000000000'],
    ['UUID', "00000000-0000-0000-0000-000000000000'"],
    ['UUID', '00000000-0000-0000-0000-000000000000\n'],
    ['Identifier', 'a-b'],
    ['Identifier', 'a`b'],
    ['Identifier', ''],
    ['Bool', 1],
    ['Bool', 'true'],
    ['Array(String)', 'a'],
    ['Array(String)', ['a', 1]],
    ['Array(UInt8)', [1, 256]],
    ['Array(Array(UInt8))', [1]],
    ['DateTime', '2026-01-01'],
    ['Nonsense', 'x'],
  ])('rejects as %s the value %p', (type, value) => {
    expect(() => renderLiteral(type, value)).toThrow(TypeError);
  });
});

describe('renderParameters', () => {
  it('puts each value in place of its placeholders, and leaves the rest alone', () => {
    const sql = "SELECT {a:UInt8}, {a:String}, '{b}', {b:Array(UUID)}, {C:UInt8}, map()";
    const text = renderParameters(sql.replace('{a:String}', '{s:String}'), {
      a: 7,
      s: 'x',
      b: [],
      unused: 1,
    });
    expect(text).toBe("SELECT toUInt8(7), 'x', '{b}', CAST([],'Array(UUID)'), {C:UInt8}, map()");
  });

  it('does not look for placeholders in values', () => {
    expect(renderParameters('{a:String} {b:String}', { a: '{b:String}', b: "$& $' $1" })).toBe(
      "'{b:String}' '$& $\\' $1'",
    );
  });

  it.each(['a', 'constructor', '__proto__'])('rejects a statement without a value for %s', (name) => {
    expect(() => renderParameters(`SELECT {${name}:String}`, {})).toThrow(TypeError);
  });
});

describeEmbedded('the embedded engine', () => {
  let open: OpenStore;

  beforeAll(async () => {
    open = await openEmptyStore();
  });

  afterAll(() => open.remove());

  const back = async (type: string, value: ParameterValue) => {
    const sql = `SELECT {value:${type}} AS value`;
    const [row] = await open.store.rows<{ value: unknown }>('test.literals', sql, { value });
    return row?.value;
  };

  it('reads back any text as itself', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(texts, { maxLength: 20 }), async (values) => {
        expect(await back('Array(String)', values)).toEqual(values);
        for (const value of values.slice(0, 2)) expect(await back('String', value)).toBe(value);
      }),
      { numRuns: 50 },
    );
  });

  it('finds in a text no end of its literal: what stands behind it stays what it was', async () => {
    await fc.assert(
      fc.asyncProperty(texts, texts, async (before, after) => {
        const sql = 'SELECT {before:String} AS before, 42 AS n, {after:String} AS after';
        const rows = await open.store.rows('test.literals', sql, { before, after });
        expect(rows).toEqual([{ before, n: 42, after }]);
      }),
      { numRuns: 50 },
    );
  });

  it('keeps every character below U+0800 and one of each higher block', async () => {
    const codes = Array.from({ length: 0x800 }, (_, code) => code);
    const higher = Array.from({ length: 0x10f }, (_, n) => 0x1000 + n * 0x1000).filter(
      (code) => code < 0xd800 || code > 0xdfff,
    );
    const all = String.fromCodePoint(...codes, ...higher);
    expect(await back('String', all)).toBe(all);
  });

  it('reads back integers exactly, UUIDs and truth values, in arrays and alone', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(int64, { minLength: 1 }),
        fc.array(uuids),
        fc.boolean(),
        async (ints, ids, yes) => {
          const sql = `SELECT arrayMap(n -> toString(n), {ints:Array(Int64)}) AS ints, toString({int:Int64}) AS int,
          toTypeName({int:Int64}) AS type, {ids:Array(UUID)} AS ids, {yes:Bool} AS yes`;
          const values = { ints, int: ints[0]!, ids, yes };
          expect(await open.store.rows('test.literals', sql, values)).toEqual([
            { ints: ints.map(String), int: String(ints[0]), type: 'Int64', ids, yes },
          ]);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('are as many UUIDs as the engine reads once for a statement, not for each row', async () => {
    const ids = Array.from({ length: 30_000 }, () => randomUUID());
    const sql = 'SELECT isConstant({ids:Array(UUID)}) AS once, length({ids:Array(UUID)}) AS length';
    expect(await open.store.rows('test.literals', sql, { ids })).toEqual([{ once: 1, length: 30_000 }]);
    expect(() => renderLiteral('Array(UUID)', [...ids, ...ids])).toThrow(RangeError);
  });

  it.each<[string, ParameterValue, string]>([
    ['UInt8', 255, 'UInt8'],
    ['UInt16', 0, 'UInt16'],
    ['UInt32', 4_294_967_295, 'UInt32'],
    ['Int64', -1, 'Int64'],
    ['Array(UInt32)', [], 'Array(UInt32)'],
    ['Array(UInt16)', [1], 'Array(UInt16)'],
    ['Array(Int64)', [-1, 2n ** 63n - 1n, -(2n ** 63n)], 'Array(Int64)'],
    ['Array(UInt64)', [0, 2n ** 64n - 1n], 'Array(UInt64)'],
    ['Array(UUID)', ['00000000-0000-4000-8000-000000000000'], 'Array(UUID)'],
    ['Array(Bool)', [true, false], 'Array(Bool)'],
    ['Array(Array(String))', [[], ["'"]], 'Array(Array(String))'],
  ])('gives %s of %p its type', async (type, value, name) => {
    const sql = `SELECT toTypeName({value:${type}}) AS type`;
    expect(await open.store.rows('test.literals', sql, { value })).toEqual([{ type: name }]);
  });

  it('takes what looks like a placeholder in the rows of an INSERT as data', async () => {
    await open.store.command('CREATE TABLE texts (value String) ENGINE = MergeTree ORDER BY value');
    const value = "{value:String} {other:UInt8} ' \\ \0";
    await open.store.insert('texts', [JSON.stringify({ value })]);
    expect(await open.store.rows('test.literals', 'SELECT value FROM texts')).toEqual([{ value }]);
  });
});
