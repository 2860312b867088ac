import { type Header, getHeader } from '../../records/capture.js';
import { sanitize, trimAndTruncate } from '../../records/text.js';

/** A method of MCP: `tools/call`, `notifications/initialized`. */
const METHOD = /^(?=.{1,64}$)[a-z][\w.-]*(?:\/[\w.-]+)*$/i;
/** Methods whose target is one of a few names; that of others is a URI or an ID. */
const NAMED_METHODS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get']);
const MAX_NAME = 128;
const CONTROL_CHARACTERS = /\p{Cc}+/gu;
/** How a header has a name that is not plain ASCII (MCP, Streamable HTTP). */
const BASE64 = /^=\?base64\?([\w+/-]*={0,2})\?=$/i;
/** The server did not know the caller, the endpoint or the operation, or did not accept the headers. */
const NOT_TAKEN: ReadonlySet<number> = new Set([400, 401, 404, 405]);

/**
 * The operation that the headers `Mcp-Method` and `Mcp-Name` of a request name; null without one. Any client
 * can send them, so they count only where the server took the request.
 */
export function findMcpOperation(
  method: string,
  status_code: number,
  headers: readonly Header[],
): string | null {
  const mcpMethod = method === 'POST' ? getHeader(headers, 'mcp-method') : null;
  if (mcpMethod === null || NOT_TAKEN.has(status_code)) return null;
  return nameMcpOperation(mcpMethod, decodeName(getHeader(headers, 'mcp-name')));
}

/** `tools/call/get_weather`; null if it is not a method of MCP. */
export function nameMcpOperation(method: string, target: string | null | undefined): string | null {
  const given = method.trim();
  if (!METHOD.test(given)) return null;
  const name = NAMED_METHODS.has(given) ? cleanName(target ?? '') : '';
  return name === '' ? given : `${given}/${name}`;
}

/** A name that a client chose, as a part of a path pattern. */
export function cleanName(name: string): string {
  return trimAndTruncate(sanitize(name).replaceAll(CONTROL_CHARACTERS, ' '), MAX_NAME);
}

function decodeName(value: string | null): string | null {
  const encoded = BASE64.exec(value?.trim() ?? '')?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString();
}
