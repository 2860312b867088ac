import fc from 'fast-check';
import { notAUuid } from './issues.js';
import { parseUuid } from './uuid.js';

const UUID = '67e55044-10b1-426f-9247-bb680e5fe0c8';
const BARE = UUID.replaceAll('-', '');

describe('parseUuid', () => {
  it.each([
    ['with hyphens', UUID],
    ['upper-case', UUID.toUpperCase()],
    ['without hyphens', BARE],
    ['without hyphens, upper-case', BARE.toUpperCase()],
    ['in braces', `{${UUID}}`],
    ['a URN', `urn:uuid:${UUID}`],
  ])('reads it %s', (_, text) => {
    expect(parseUuid(text)).toBe(UUID);
  });

  const stray =
    'invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found ';
  const length = 'invalid length: expected length 32 for simple format, found ';
  it.each([
    ['', `${length}0`],
    ['abc', `${length}3`],
    [`${BARE}0`, `${length}33`],
    ['x', `${stray}\`x\` at 1`],
    ['a😀', `${stray}\`😀\` at 2`],
    [` ${UUID}`, `${stray}\` \` at 1`],
    [`${UUID}\n`, `${stray}\`\n\` at 37`],
    [`{${UUID}`, `${stray}\`{\` at 1`],
    ['{é}', `${stray}\`é\` at 2`],
    ['urn:uuid:x', `${stray}\`x\` at 10`],
    [`URN:UUID:${UUID}`, `${stray}\`U\` at 1`],
    ['-', 'invalid group count: expected 5, found 2'],
    ['-----', 'invalid group count: expected 5, found 6'],
    ['urn:uuid:', 'invalid group count: expected 5, found 1'],
    [`{${BARE}}`, 'invalid group count: expected 5, found 1'],
    ['----', 'invalid group length in group 0: expected 8, found 0'],
    [UUID.slice(1), 'invalid group length in group 0: expected 8, found 7'],
    ['67e55044--10b1426f-9247-bb680e5fe0c8', 'invalid group length in group 1: expected 4, found 0'],
    [`${UUID}0`, 'invalid group length in group 4: expected 12, found 13'],
    [`{${UUID.slice(0, -1)}}`, 'invalid group length in group 4: expected 12, found 11'],
  ])('rejects %j: %s', (text, why) => {
    expect(parseUuid(text)).toEqual(notAUuid(why));
  });

  it('reads any UUID in any form, and no other text', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.string({ unit: 'binary' }), (uuid, text) => {
        for (const form of [uuid, uuid.replaceAll('-', ''), `{${uuid}}`, `urn:uuid:${uuid}`]) {
          expect(parseUuid(form.toUpperCase().replace('URN:UUID', 'urn:uuid'))).toBe(uuid);
          expect(parseUuid(`${form}${text}!`)).toMatchObject({ type: 'uuid_parsing' });
        }
      }),
    );
  });
});
