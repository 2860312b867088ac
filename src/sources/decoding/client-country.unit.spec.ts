import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { ConfigError } from '../../config/config.js';
import { isPublic, lookUpCountry, openCountryDatabase } from './client-country.js';

describe('lookUpCountry', () => {
  it.each([
    ['8.8.8.8', 'US'],
    ['83.149.9.216', 'RU'],
    ['::ffff:8.8.8.8', 'US'],
    ['::FFFF:83.149.9.216', 'RU'],
  ])('knows that %s is of %s', (address, code) => {
    expect(lookUpCountry(address)).toBe(code);
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
    expect(lookUpCountry(address)).toBeNull();
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
    expect(lookUpCountry(text)).toBeNull();
  });

  it('returns two upper-case letters or null for every address, and the same each time', () => {
    const address = fc.oneof(fc.ipV4(), fc.ipV6());
    fc.assert(
      fc.property(address, (text) => {
        const code = lookUpCountry(text);
        expect(code === null || /^[A-Z]{2}$/.test(code)).toBe(true);
        expect(lookUpCountry(text)).toBe(code);
      }),
    );
  });

  it('takes any text without throwing', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void lookUpCountry(text)));
  });
});

describe('isPublic', () => {
  it.each([
    ['0.255.255.255', '1.0.0.0'],
    ['10.0.0.0', '9.255.255.255'],
    ['10.255.255.255', '11.0.0.0'],
    ['100.64.0.0', '100.63.255.255'],
    ['100.127.255.255', '100.128.0.0'],
    ['172.16.0.0', '172.15.255.255'],
    ['172.31.255.255', '172.32.0.0'],
    ['192.0.0.255', '192.0.1.0'],
    ['198.18.0.0', '198.17.255.255'],
    ['198.19.255.255', '198.20.0.0'],
    ['224.0.0.0', '223.255.255.255'],
    ['ff00::1', 'feff::1'],
  ])('is false of %s and true of its neighbour %s', (special, neighbour) => {
    expect([isPublic(special), isPublic(neighbour)]).toEqual([false, true]);
  });
});

describe('openCountryDatabase', () => {
  const directory = mkdtempSync(join(tmpdir(), 'request-analytics-mmdb-'));
  afterAll(() => {
    openCountryDatabase(undefined);
    rmSync(directory, { recursive: true });
  });

  it('takes the countries from the file, IPv6 included', () => {
    const file = join(directory, 'countries.mmdb');
    writeFileSync(file, databaseOfTwoHalves('DE', 'JP'));
    openCountryDatabase(file);
    expect(lookUpCountry('2a00:1450::1')).toBe('DE');
    expect(lookUpCountry('9000::1')).toBe('JP');
    expect(lookUpCountry('fd00::1')).toBeNull();
  });

  it('takes the codes of IPinfo, whose country is a name', () => {
    const file = join(directory, 'ipinfo.mmdb');
    const record = (code: string) => map(['country', text('a name')], ['country_code', text(code)]);
    writeFileSync(file, databaseOfTwoHalves('DE', 'JP', record));
    openCountryDatabase(file);
    expect(lookUpCountry('2a00:1450::1')).toBe('DE');
    expect(lookUpCountry('9000::1')).toBe('JP');
  });

  it('without a file uses the packaged data', () => {
    openCountryDatabase(join(directory, 'countries.mmdb'));
    expect(lookUpCountry('8.8.8.8')).toBe('DE');
    openCountryDatabase(undefined);
    expect(lookUpCountry('8.8.8.8')).toBe('US');
  });

  it('rejects a file that is none', () => {
    const file = join(directory, 'not.mmdb');
    writeFileSync(file, 'not a database');
    expect(() => {
      openCountryDatabase(file);
    }).toThrow(ConfigError);
  });
});

const text = (value: string) => Buffer.concat([Buffer.from([0x40 | value.length]), Buffer.from(value)]);
const map = (...members: (readonly [string, Buffer])[]) =>
  Buffer.concat([
    Buffer.from([0xe0 | members.length]),
    ...members.flatMap(([name, value]) => [text(name), value]),
  ]);

/**
 * The smallest database (MaxMind DB format 2.0): one node, addresses below 8000:: of one country, the rest of
 * another.
 */
function databaseOfTwoHalves(
  low: string,
  high: string,
  country = (code: string) => map(['country', map(['iso_code', text(code)])]),
): Buffer {
  const uint16 = (value: number) => Buffer.from([0xa2, value >> 8, value & 0xff]);
  const [first, second] = [country(low), country(high)];
  const record = (offset: number) => Buffer.from([0, 0, 1 + 16 + offset]);
  const metadata = map(
    ['binary_format_major_version', uint16(2)],
    ['binary_format_minor_version', uint16(0)],
    ['build_epoch', uint16(1)],
    ['database_type', text('Country')],
    ['ip_version', uint16(6)],
    ['node_count', uint16(1)],
    ['record_size', uint16(24)],
  );
  const marker = Buffer.concat([Buffer.from([0xab, 0xcd, 0xef]), Buffer.from('MaxMind.com')]);
  const tree = Buffer.concat([record(0), record(first.length)]);
  return Buffer.concat([tree, Buffer.alloc(16), first, second, marker, metadata]);
}
