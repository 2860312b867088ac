import type { components } from './generated/schema.d.js';
import { toSentBody } from './json.js';

/** A command line for a shell; the key is in its variable `API_KEY`. */
export function toApiCurl(url: string, body?: object): string {
  const head = `curl -s ${quote(url)} -H "Api-Key: $API_KEY"`;
  return body ? `${head} -H 'Content-Type: application/json' -d ${quote(JSON.stringify(body))}` : head;
}

/** Names of headers (RFC 9110, section 5.1), without `@`: curl reads a file for `-H @name`. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;

/** Headers that curl generates itself. */
const OF_CONNECTION = new Set([
  'host',
  'content-length',
  'connection',
  'transfer-encoding',
  'accept-encoding',
]);

/**
 * The monitored application's request as a command line; null if curl could interpret the URL in another way.
 */
export function toRequestCurl({
  method,
  url,
  request_headers,
  request_body_json,
}: components['schemas']['RequestDetails']): string | null {
  if (!/^https?:\/\//i.test(url) || !/^[\w-]+$/.test(method)) return null;
  const headers = request_headers.filter(
    ([name = '']) => HEADER_NAME.test(name) && !OF_CONNECTION.has(name.toLowerCase()),
  );
  return [
    // Without -g, curl expands braces and brackets in the URL.
    `curl -g ${method === 'GET' ? '' : method === 'HEAD' ? '-I ' : `-X ${method} `}${quote(url)}`,
    ...headers.map(([name = '', value = '']) => `-H ${quote(`${name}: ${value}`)}`),
    ...(request_body_json === null
      ? []
      : [`--data-raw ${quote(toSentBody(request_body_json, request_headers))}`]),
  ].join(' \\\n  ');
}

/** Controls and direction marks: a terminal may act on them, and a reader does not see them. */
const INVISIBLE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
const SHORT: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** One word for a POSIX shell; for bash and zsh if it contains invisible characters. */
function quote(text: string): string {
  if (text.search(INVISIBLE) < 0) return `'${text.replaceAll("'", `'\\''`)}'`;
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "\\'")
    .replaceAll(
      INVISIBLE,
      (character) =>
        SHORT[character] ?? `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`,
    );
  return `$'${escaped}'`;
}
