import { normalizeIp } from '@nestjs/throttler';
import { parseAddress } from '../common/ip-address.js';

/** A household or a rented machine has at least this much of the IPv6 space to itself. */
const IPV6_PREFIX = 64;

/**
 * One name for one client: an IPv4 address (also where it is written as IPv6), or an IPv6 /64 network. Whatever is
 * no address, as a forwarding header may claim, is one client: `unknown`.
 *
 * @param address Express's `request.ip`.
 */
export function toClientKey(address: string | undefined): string {
  const parsed = parseAddress(address ?? '');
  return parsed === null ? 'unknown' : normalizeIp(parsed, IPV6_PREFIX);
}
