import { toClientKey } from './client-key.js';

describe('toClientKey', () => {
  it.each([
    ['an IPv4 address', '203.0.113.7', '203.0.113.7'],
    ['IPv4 written as IPv6', '::ffff:203.0.113.7', '203.0.113.7'],
    ['IPv4 with a port', '203.0.113.7:50123', '203.0.113.7'],
    ['an IPv6 address, by its /64', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['another address of that /64', '2001:DB8:1:2:ffff::1', '2001:db8:1:2::/64'],
    ['an address of the next /64', '2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['IPv6 in brackets', '[2001:db8:1:2::1]', '2001:db8:1:2::/64'],
    ['IPv6 with a port', '[2001:db8:1:2::1]:50123', '2001:db8:1:2::/64'],
    ['a link-local address with its zone', 'fe80::1%eth0', 'fe80::/64'],
    ['no address', undefined, 'unknown'],
    ['an empty address', '', 'unknown'],
    ['what is no address', 'unknown, 1.2.3.4\r\n', 'unknown'],
    ['a number too large', '1.2.3.456', 'unknown'],
    ['a very long claim', 'x'.repeat(10_000), 'unknown'],
  ])('names %s', (_case, address, client) => {
    expect(toClientKey(address)).toBe(client);
  });
});
