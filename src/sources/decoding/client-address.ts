import { parseHops } from '../../shared/ip-address.js';
import { type Header, getHeader } from '../../records/capture.js';
import { isPublic } from './client-country.js';

/** Headers in which proxies name the client, the most common first. */
const CLIENT_HEADERS = [
  'x-forwarded-for',
  'forwarded',
  'x-real-ip',
  'cf-connecting-ip',
  'true-client-ip',
  'fly-client-ip',
  'x-client-ip',
  'x-cluster-client-ip',
];

/**
 * The address of the client according to the logged headers: the first public address, otherwise the first
 * address, otherwise null. Clients can forge these headers; the service shows the addresses that the
 * application received.
 */
export function findClientAddress(headers: readonly Header[]): string | null {
  if (headers.length === 0) return null;
  const claimed = CLIENT_HEADERS.flatMap((name) => parseAddresses(name, getHeader(headers, name)));
  return claimed.find(isPublic) ?? claimed[0] ?? null;
}

function parseAddresses(name: string, value: string | null): string[] {
  if (value === null) return [];
  return name === 'forwarded' ? parseHops(value, parseForParameter) : parseHops(value);
}

/** The value of `for=` in a hop of `Forwarded` (RFC 7239, section 5.2). */
function parseForParameter(hop: string): string {
  return /(?:^|;)\s*for\s*=\s*"?([^";]*)"?/i.exec(hop)?.[1] ?? '';
}
