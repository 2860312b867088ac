import { parseAddress } from '../../common/ip-address.js';
import { type Header, getHeader } from '../../ingestion/capture.js';
import { isPublic } from '../../ingestion/client-country.js';

/** Headers in which proxies name the client, the most common first. */
const HEADERS = [
  'x-forwarded-for',
  'forwarded',
  'x-real-ip',
  'cf-connecting-ip',
  'true-client-ip',
  'fly-client-ip',
  'x-client-ip',
  'x-cluster-client-ip',
];
/** More than any chain of proxies has. */
const MAX_HOPS = 32;

/**
 * The address of the client according to the logged headers: the first public one, else the first one, else null.
 * Clients can forge these headers; the service shows what the application received.
 */
export function findClientAddress(headers: readonly Header[]): string | null {
  const claimed = HEADERS.flatMap((name) => parseAddresses(name, getHeader(headers, name)));
  return claimed.find(isPublic) ?? claimed[0] ?? null;
}

function parseAddresses(name: string, value: string | null): string[] {
  if (value === null) return [];
  const hops = value.split(',', MAX_HOPS).map((hop) => (name === 'forwarded' ? parseForParameter(hop) : hop));
  return hops.map((hop) => parseAddress(hop.trim())).filter((address) => address !== null);
}

/** The value of `for=` in a hop of `Forwarded` (RFC 7239, section 5.2). */
function parseForParameter(hop: string): string {
  return /(?:^|;)\s*for\s*=\s*"?([^";]*)"?/i.exec(hop)?.[1] ?? '';
}
