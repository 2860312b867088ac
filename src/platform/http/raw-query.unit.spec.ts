import fc from 'fast-check';
import {
  decodePathText,
  decodeQueryText,
  escapeMalformed,
  originForm,
  parseRawPath,
  parseRawQuery,
} from './raw-query.js';

const parseOne = (target: string) => [...parseRawQuery(target)];

describe('parseRawQuery', () => {
  it.each([
    ['no query', '/v1/apps', []],
    ['an empty query', '/v1/apps?', []],
    ['nothing between separators', '/v1/apps?&&=&=1&', []],
    ['values as they were sent', '/?path=%2Fa+b', [['path', '%2Fa+b']]],
    ['the first equals sign alone divides', '/?a==b=c', [['a', '=b=c']]],
    ['a name without a value', '/?method', [['method', '']]],
    ['the last of a repeated name', '/?limit=1&limit=2&limit=%', [['limit', '%']]],
    ['a later question mark is text', '/?a=1?b', [['a', '1?b']]],
    ['a semicolon is text', '/?a=1;b=2', [['a', '1;b=2']]],
    ['a fragment is not the query', '/?a=1#?b=2', [['a', '1']]],
    ['a question mark in the fragment', '/#?a=1', []],
    [
      'escaped names',
      '/?%6Cimit=1&a+b=2',
      [
        ['limit', '1'],
        ['a b', '2'],
      ],
    ],
    ['names that cannot be decoded', '/?%=1&%ff=2&a=3', [['a', '3']]],
    [
      'names that other parsers unfold',
      '/?a[]=1&a[b]=2&__proto__=3',
      [
        ['a[]', '1'],
        ['a[b]', '2'],
        ['__proto__', '3'],
      ],
    ],
  ])('%s', (_, target, expected) => {
    expect(parseOne(target)).toEqual(expected);
  });

  it('reads what URLSearchParams writes', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1 });
    fc.assert(
      fc.property(fc.dictionary(text, text, { noNullPrototype: true }), (record) => {
        const raw = parseRawQuery(`/?${new URLSearchParams(record).toString()}`);
        const decoded = [...raw].map(([name, value]) => [name, decodeQueryText(value)]);
        expect(Object.fromEntries(decoded)).toEqual(record);
      }),
    );
  });

  it('reads any target, and never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (target) => {
        for (const value of parseRawQuery(target).values()) decodeQueryText(value);
      }),
    );
  });
});

describe('parseRawPath', () => {
  const pattern = '/v1/apps/:app_id/request-logs/:request_uuid';
  it.each([
    ['as sent', '/v1/apps/%zz/request-logs/a%2Fb?app_id=1', ['%zz', 'a%2Fb']],
    ['a trailing slash', '/v1/apps/1/request-logs/2/', ['1', '2']],
    ['the absolute form', 'http://host:80/v1/apps/1/request-logs/2#x', ['1', '2']],
    ['a target that does not fit', '/', ['', '']],
  ])('%s', (_, target, [app_id, request_uuid]) => {
    expect(Object.fromEntries(parseRawPath(pattern, target))).toEqual({ app_id, request_uuid });
  });
});

describe('decoding', () => {
  it.each([
    ['plain', 'abc', 'abc'],
    ['UTF-8', '%C3%A9%F0%9F%98%80', 'é😀'],
    ['lower-case escapes', '%c3%a9', 'é'],
    ['NUL', '%00', '\0'],
    ['an escaped percent sign', '%2541', '%41'],
    ['a percent sign alone', '100%', undefined],
    ['half an escape', '%4', undefined],
    ['no hexadecimal digits', '%zz', undefined],
    ['a stray byte', '%ff', undefined],
    ['a cut sequence', '%C3', undefined],
    ['an overlong form', '%C0%AF', undefined],
    ['an unpaired surrogate', '%ED%A0%80', undefined],
    ['beyond Unicode', '%F4%90%80%80', undefined],
  ])('%s: %s', (_, raw, text) => {
    expect(decodeQueryText(raw)).toBe(text);
    expect(decodePathText(raw)).toBe(text);
  });

  it('reads a plus as a space in a query only', () => {
    expect(decodeQueryText('a+b%2Bc')).toBe('a b+c');
    expect(decodePathText('a+b%2Bc')).toBe('a+b+c');
  });
});

describe('originForm', () => {
  it.each([
    ['the origin form as it is', '/http://host/x?y#z', '/http://host/x?y#z'],
    ['the absolute form without its host', 'http://user@host:80/v1/team?x=1', '/v1/team?x=1'],
    ['any scheme, in any case', 'HTTPS://host/v1', '/v1'],
    ['a missing path as the root', 'http://host', '/'],
    ['a query behind a missing path', 'http://host?x=/', '/?x=/'],
    ['the asterisk form as it is', '*', '*'],
  ])('%s', (_, target, expected) => {
    expect(originForm(target)).toBe(expected);
  });
});

describe('escapeMalformed', () => {
  it.each([
    ['nothing to do', '/v1/apps/a%2Fb?x=%', '/v1/apps/a%2Fb?x=%'],
    ['a stray percent sign', '/v1/apps/%zz/x?y=%zz', '/v1/apps/%25zz/x?y=%zz'],
    ['bytes that are no text, beside those that are', '/%ff%41/%C3%A9', '/%25ff%2541/%C3%A9'],
  ])('%s', (_, url, expected) => {
    expect(escapeMalformed(url)).toBe(expected);
  });

  it('makes every path decodable and leaves the decodable alone', () => {
    const url = fc.stringMatching(/^[/a%0-9CFcf?#+-]{0,20}$/);
    fc.assert(
      fc.property(url, (sent) => {
        const [path = ''] = escapeMalformed(sent).split(/[?#]/, 1);
        expect(decodePathText(path)).toBeDefined();
        expect(escapeMalformed(escapeMalformed(sent))).toBe(escapeMalformed(sent));
      }),
    );
  });
});
