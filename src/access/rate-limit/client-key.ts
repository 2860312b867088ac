import { normalizeIp } from '@nestjs/throttler';
import { parseAddress } from '../../shared/ip-address.js';

/** A household or a rented machine usually has a whole /64 network of IPv6. */
const IPV6_PREFIX = 64;

/**
 * The counter key of a client: an IPv4 address (also if it is written as IPv6), or an IPv6 /64 network. All
 * other values, for example of a forged forwarding header, count as one client: `unknown`.
 *
 * @param address Express's `request.ip`.
 */
export function toClientKey(address: string | undefined): string {
  const parsed = parseAddress(address ?? '');
  return parsed === null ? 'unknown' : normalizeIp(parsed, IPV6_PREFIX);
}
