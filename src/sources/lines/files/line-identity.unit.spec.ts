import fc from 'fast-check';
import { LineIdentities } from './line-identity.js';

const TIME = Date.UTC(2026, 10, 27, 8, 15);

function identify(lines: readonly string[], { source = '', env = 'prod', remembered = 64 } = {}): string[] {
  const identities = new LineIdentities(source, remembered);
  return lines.map((line) => identities.next(env, line, TIME));
}

describe('LineIdentities', () => {
  it('gives UUIDs of version 8 that do not change', () => {
    // Computed apart. With others, every import that is repeated would count once more.
    expect(identify(['a', 'b', 'a', 'a'])).toEqual([
      '51d77199-18e7-8387-801a-21c126fa0000',
      'f8a133b1-1c94-8751-801a-21c126fa0000',
      '07d61ed1-0d84-849d-801a-21c126fa0000',
      '2ceb7661-3c14-8ee2-801a-21c126fa0000',
    ]);
  });

  it('gives equal lines different identities, and the same ones in the next import', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 40 });
    fc.assert(
      fc.property(text, (lines) => {
        const first = identify(lines);
        expect(new Set(first).size).toBe(lines.length);
        expect(identify(lines)).toEqual(first);
      }),
    );
  });

  it('gives a log that lost its first lines no identity that it did not have', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 40 });
    fc.assert(
      fc.property(text, fc.nat(40), (lines, lost) => {
        const whole = new Set(identify(lines));
        const rest = lines.slice(lost);
        const kept = identify(rest);
        expect(new Set(kept).size).toBe(rest.length);
        for (const identity of kept) expect(whole).toContain(identity);
      }),
    );
  });

  it('gives lines of another source, of another environment, and of texts run together other identities', () => {
    const all = [
      ...identify(['a', 'a']),
      ...identify(['a', 'a'], { source: 'web-1' }),
      ...identify(['a', 'a'], { source: 'web-2' }),
      ...identify(['a', 'a'], { env: 'dev' }),
      ...identify(['1a', 'a'], { env: 'd', source: 'ev' }),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  it('gives equal lines the identities that they have alone, however many others lie between them', () => {
    const alone = identify(['a', 'a', 'a', 'a', 'a']);
    for (const count of [30, 62, 63]) {
      const others = Array.from({ length: count }, (_, index) => `other ${index}`);
      const lines = ['a', 'a', ...others, 'a', 'a', 'a'];
      const all = identify(lines);
      expect(all.filter((_, index) => lines[index] === 'a')).toEqual(alone);
    }
  });

  it('knows a line again behind as many others as are remembered, and forgets it behind twice as many', () => {
    const others = (count: number) => Array.from({ length: count }, (_, index) => `other ${index}`);
    for (const before of [0, 1, 31, 62, 63]) {
      const between = [...others(before).map((text) => `before ${text}`), 'a', ...others(63), 'a'];
      expect(new Set(identify(between)).size).toBe(between.length);
    }
    expect(identify(['a', ...others(200), 'a']).at(-1)).toBe(identify(['a'])[0]);
  });
});
