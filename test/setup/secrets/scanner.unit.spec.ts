import { createHash } from 'node:crypto';
import { createApiKey } from '../../../src/access/keys/api-key.js';
import { createWriteToken } from '../../../src/access/tokens/write-token.js';
import { SecretScanner } from './scanner.js';

const key = createApiKey();
const hash = createHash('sha256').update(key).digest('hex');
const [identifier = '', secret = ''] = key.split('.');
const scanner = new SecretScanner([key, hash, 'pass word/1', 'short']);

describe('the search for secrets', () => {
  it.each([
    ['a key', `{"level":30,"key":"${key}"}`],
    ['its secret part', secret],
    ['its secret part inside a longer word', `x${secret}9`],
    ['its hash', `key_sha256: ${hash}`],
    ['the first half of its hash', hash.slice(0, 32)],
    ['another text', 'could not log in with pass word/1'],
    ['another text, percent-encoded', 'redis://:pass%20word%2F1@localhost'],
  ])('finds %s, says where, and does not repeat it', (_, text) => {
    const found = scanner.find(`first\n${text}\nlast`);
    expect(found).toMatchObject([{ line: 2, kind: 'a secret' }]);
    for (const forbidden of [secret, hash.slice(0, 32), 'pass word/1', 'pass%20word'])
      expect(found[0]?.text).not.toContain(forbidden);
  });

  it.each([createApiKey, createWriteToken])(
    'finds all text in the form of a key or a token: %p',
    (create) => {
      const secret = create();
      const [found] = scanner.find(`authorization: ${secret}`);
      expect(found).toMatchObject({ kind: 'what has the form of a key' });
      expect(found!.text).not.toContain(secret);
    },
  );

  it.each([
    ['the public part of a key', `{"key":"${identifier}"}`],
    ['UUIDs and trace IDs', '01890a5d-ac96-774b-bcce-b302099a8057 4bf92f3577b34da6a3ce929d0e0e4736'],
    ['a text so short that it occurs by chance', 'short'],
    ['nothing', ''],
  ])('does not mind %s', (_, text) => {
    expect(scanner.find(text)).toEqual([]);
  });

  it('does not take what pads a text for a secret, though a test sent it as a key', () => {
    const padding = 'a'.repeat(32);
    expect(new SecretScanner([`abcdefg.${padding}`, 'b'.repeat(64)]).find(padding + padding)).toEqual([]);
  });

  it('looks for every secret once, and for texts in two forms', () => {
    expect(scanner.size).toBe(4);
  });
});
