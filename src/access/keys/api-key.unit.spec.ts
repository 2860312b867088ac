import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { createApiKey, hashApiKey, matchesHash, parseIdentifier } from './api-key.js';

describe('createApiKey', () => {
  it('makes keys of the form that public clients check, no two alike', () => {
    const keys = Array.from({ length: 2_000 }, createApiKey);
    for (const key of keys) expect(key).toMatch(/^[A-Za-z0-9]{7}\.[A-Za-z0-9]{32}$/);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('uses the whole alphabet at every place', () => {
    const keys = Array.from({ length: 3_000 }, createApiKey);
    for (let at = 0; at < 40; at++) expect(new Set(keys.map((key) => key[at])).size).toBe(at === 7 ? 1 : 62);
  });
});

describe('parseIdentifier', () => {
  const secret = 'k'.repeat(32);

  it('is the part before the dot', () => {
    expect(parseIdentifier(`Abc1234.${secret}`)).toBe('Abc1234');
  });

  it.each([
    '',
    'Abc1234',
    `Abc123.${secret}`,
    `Abc12345.${secret}`,
    `Abc1234.${secret}k`,
    `Abc1234.${secret.slice(1)}`,
    `Abc1234-${secret}`,
    `Abc123é.${secret}`,
    `Abc1234.${secret}\n`,
    ` Abc1234.${secret}`,
    `Abc1234.${secret.slice(1)}'`,
  ])('is none for %j', (text) => {
    expect(parseIdentifier(text)).toBeUndefined();
  });
});

describe('matchesHash', () => {
  it('finds a key behind its own SHA-256, and no other', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (key, other) => {
        const hash = createHash('sha256').update(key).digest('hex');
        expect(hashApiKey(key)).toBe(hash);
        expect(matchesHash(key, hash)).toBe(true);
        expect(matchesHash(other, hash)).toBe(other === key);
      }),
    );
  });

  it.each(['', '00', 'not hex', hashApiKey('key').slice(2), `${hashApiKey('key')}00`])(
    'finds none behind a hash that is not whole: %j',
    (hash) => {
      expect(matchesHash('key', hash)).toBe(false);
    },
  );
});
