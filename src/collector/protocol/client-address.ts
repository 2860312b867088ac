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
 * The address of the client as the logged headers tell it: the first public one, else the first at all, else null.
 * Headers can be made up by the client; what the application was told is what is shown.
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

/** What stands behind `for=` in a hop of `Forwarded` (RFC 7239, section 5.2). */
function parseForParameter(hop: string): string {
  return /(?:^|;)\s*for\s*=\s*"?([^";]*)"?/i.exec(hop)?.[1] ?? '';
}
