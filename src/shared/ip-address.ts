import { isIP } from 'node:net';

/** Longest text of an address: IPv6 with an IPv4 tail, and some room for a zone. */
const MAX_ADDRESS = 64;
/** More than any chain of proxies has. */
const MAX_HOPS = 32;
/** An address in brackets or IPv4, with the port that some proxies append. */
const WITH_PORT = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/;

/** A server on a socket of both versions has IPv4 clients as IPv6 (RFC 4291, section 2.5.5.2). */
const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;

/** An IPv4 address in its own notation if it is written as IPv6; other texts unchanged. */
export function unmapIpv4(address: string): string {
  return address.replace(MAPPED_IPV4, '');
}

/**
 * The IPv4 or IPv6 address in a text such as `203.0.113.7`, `203.0.113.7:443` or `[2001:db8::7]:443`; null
 * for any other text, such as a host name or `-`.
 */
export function parseAddress(text: string): string | null {
  const match = WITH_PORT.exec(text);
  const address = match?.[1] ?? match?.[2] ?? text;
  return address.length <= MAX_ADDRESS && isIP(address) !== 0 ? unmapIpv4(address) : null;
}

/**
 * The addresses in a list such as `X-Forwarded-For`; hops without an address are left out.
 *
 * @param read extracts the address from the text of a hop, if it is not the whole text
 */
export function parseHops(list: string, read = (hop: string) => hop): string[] {
  const hops = list.split(',', MAX_HOPS);
  return hops.map((hop) => parseAddress(read(hop).trim())).filter((address) => address !== null);
}
