import { parseAddress } from './ip-address.js';

describe('parseAddress', () => {
  it.each(['203.0.113.7', '2001:db8::1', 'fe80::1%eth0'])('keeps %s', (text) => {
    expect(parseAddress(text)).toBe(text);
  });

  it.each([
    ['203.0.113.7:80', '203.0.113.7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['[2001:db8::7]:443', '2001:db8::7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['[::FFFF:203.0.113.7]:443', '203.0.113.7'],
    ['::ffff:cb00:7107', '::ffff:cb00:7107'],
  ])('finds in %p the address %p', (text, address) => {
    expect(parseAddress(text)).toBe(address);
  });

  it.each([
    '',
    '-',
    'host.example',
    'client.example.com:80',
    '203.0.113',
    '203.0.113.7:',
    '203.0.113.256',
    `fe80::1%${'a'.repeat(64)}`,
    '1'.repeat(100_000),
  ])('finds no address in %.40p', (text) => {
    expect(parseAddress(text)).toBeNull();
  });
});
