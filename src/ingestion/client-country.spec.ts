import fc from 'fast-check';
import { countryOf } from './client-country.js';

describe('countryOf', () => {
  it.each([
    ['8.8.8.8', 'US'],
    ['83.149.9.216', 'RU'],
    ['::ffff:8.8.8.8', 'US'],
    ['::FFFF:83.149.9.216', 'RU'],
  ])('knows that %s is of %s', (address, code) => {
    expect(countryOf(address)).toBe(code);
  });

  it.each([
    ['private', '10.1.2.3'],
    ['private', '172.16.0.1'],
    ['private', '192.168.1.1'],
    ['shared', '100.64.0.1'],
    ['loopback', '127.0.0.1'],
    ['link-local', '169.254.1.1'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.7'],
    ['documentation', '203.0.113.7'],
    ['multicast', '224.0.0.1'],
    ['reserved', '255.255.255.255'],
    ['loopback', '::1'],
    ['unspecified', '::'],
    ['documentation', '2001:db8::1'],
    ['unique local', 'fd00::1'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['private, mapped', '::ffff:10.0.0.1'],
  ])('gives no country to a %s address, %s', (_, address) => {
    expect(countryOf(address)).toBeNull();
  });

  it.each([
    null,
    '',
    '-',
    'localhost',
    'client.example.com',
    '1.2.3',
    '1.2.3.4.5',
    '999.1.1.1',
    '8.8.8.8:443',
  ])('gives no country to what is no address, %p', (text) => {
    expect(countryOf(text)).toBeNull();
  });

  it('answers two upper-case letters or null for every address, and the same each time', () => {
    const address = fc.oneof(fc.ipV4(), fc.ipV6());
    fc.assert(
      fc.property(address, (text) => {
        const code = countryOf(text);
        expect(code === null || /^[A-Z]{2}$/.test(code)).toBe(true);
        expect(countryOf(text)).toBe(code);
      }),
    );
  });

  it('takes any text without throwing', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void countryOf(text)));
  });
});
