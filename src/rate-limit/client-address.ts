import { isIP } from 'node:net';
import { normalizeIp } from '@nestjs/throttler';

/** An IPv4 address, or an IPv6 address in brackets, with the port that some proxies put behind it. */
const WITH_PORT = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/;

/** A household or a rented machine has at least this much of the IPv6 space to itself. */
const IPV6_PREFIX = 64;

/**
 * One name for one client: an IPv4 address (also where it is written as IPv6), or an IPv6 /64 network. Whatever is
 * no address, as a forwarding header may claim, is one client: `unknown`.
 *
 * @param address Express's `request.ip`.
 */
export function clientOf(address: string | undefined): string {
  const match = WITH_PORT.exec(address ?? '');
  const bare = match?.[1] ?? match?.[2] ?? address ?? '';
  return isIP(bare) === 0 ? 'unknown' : normalizeIp(bare, IPV6_PREFIX);
}
