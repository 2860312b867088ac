import fc from 'fast-check';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { Config } from '../../config/config.js';
import { PageTokens, type QueryFingerprint, type TokenContent } from './page-tokens.js';

/** With a configured secret the store is never asked. */
const NO_STORE = undefined as unknown as ClickHouse;

async function createTokens(secret: string): Promise<PageTokens> {
  const tokens = new PageTokens(NO_STORE, new Config({ TOKEN_SECRET: secret }));
  await tokens.ensureSecret();
  return tokens;
}

const BINDING: QueryFingerprint = {
  operation: 'request-logs',
  teamId: 1,
  appId: 2,
  filters: [3, 'GET', null],
};
const CONTENT: TokenContent = {
  window: [1_700_000_000_000, 1_700_000_000_001],
  requestedWindow: [1_700_000_000_000, null],
  after: [1_700_000_000_000, '76bf09e2-8996-4dd0-bdb5-ccdc3a48f64c'],
};
const ALPHABET = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=.~ ');

describe('PageTokens', () => {
  let tokens: PageTokens;
  let token: string;

  beforeAll(async () => {
    tokens = await createTokens('secret '.repeat(6));
    token = tokens.sign(BINDING, CONTENT);
  });

  it('give back what was sealed, to the query it was sealed for', () => {
    const keys = fc.array(fc.oneof(fc.integer(), fc.string({ unit: 'binary', maxLength: 40 })), {
      maxLength: 3,
    });
    fc.assert(
      fc.property(keys, fc.integer(), fc.integer(), (after, start, end) => {
        const content: TokenContent = { window: [start, end], requestedWindow: [null, end], after };
        const opened = tokens.verify(tokens.sign(BINDING, content));
        expect(opened).toMatchObject(content);
        expect(tokens.matches(opened!, BINDING)).toBe(true);
      }),
    );
  });

  it('are URL-safe text of at most 1,024 characters, however long the filters', () => {
    const long = { ...BINDING, filters: ['x'.repeat(5_000), 'ü'.repeat(5_000)] };
    for (const sealed of [token, tokens.sign(long, CONTENT)])
      expect(sealed).toMatch(/^[A-Za-z0-9_-]{20,1024}$/);
  });

  it.each<[string, Partial<QueryFingerprint>]>([
    ['operation', { operation: 'traffic' }],
    ['team', { teamId: 11 }],
    ['app', { appId: 1 }],
    ['filter', { filters: [3, 'GET', 'x'] }],
    ['order of filters', { filters: ['GET', 3, null] }],
    ['kind of a filter', { filters: ['3', 'GET', null] }],
    ['number of filters', { filters: [3, 'GET'] }],
  ])('do not belong to a query of another %s', (_, other) => {
    const opened = tokens.verify(token)!;
    expect(tokens.matches(opened, BINDING)).toBe(true);
    expect(tokens.matches(opened, { ...BINDING, ...other })).toBe(false);
  });

  it('do not open when any one character was replaced by any other', () => {
    const altered = Array.from(token).flatMap((character, at) =>
      ALPHABET.filter((other) => other !== character).map(
        (other) => token.slice(0, at) + other + token.slice(at + 1),
      ),
    );
    expect(altered.filter((text) => tokens.verify(text) !== undefined)).toEqual([]);
  });

  it('do not open when something was added or is missing, at either end or in between', () => {
    const cuts = Array.from(token, (_, at) => [
      token.slice(0, at),
      token.slice(at + 1),
      token.slice(0, at) + token.slice(at + 1),
      `${token.slice(0, at)}A${token.slice(at)}`,
    ]).flat();
    const others = [`${token}=`, `${token} `, ` ${token}`, `${token}\n`, `${token}${token}`];
    const opened = [...cuts, ...others].filter((text) => text !== token && tokens.verify(text) !== undefined);
    expect(opened).toEqual([]);
  });

  it('do not open when they were never sealed', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.base64String({ maxLength: 300 })), (text) => {
        expect(tokens.verify(text)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  it('open with the same secret alone', async () => {
    expect((await createTokens('secret '.repeat(6))).verify(token)).toEqual(tokens.verify(token));
    expect((await createTokens('another secret '.repeat(3))).verify(token)).toBeUndefined();
  });
});
