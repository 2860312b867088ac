import 'reflect-metadata';
import { type CallToolResult, isCallToolResult } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { parseJson } from '../shared/json/parse-json.js';
import { callService } from './call-service.js';
import { createMcpServer } from './mcp-server.js';
import { showInvisible } from './untrusted-text.js';

const MAX_DETAIL = 300;

/** Advice on a response of the service, by its status. */
const ADVICE: Readonly<Record<number, string>> = {
  401: 'API_KEY is wrong, expired or revoked.',
  403: "The key's team has no access to the API, or the key's scopes leave it out.",
  404: 'There is no /mcp at API_URL: the address is wrong, or the service has MCP=off.',
};

/** Serves the tools over standard input and output. Each call is one request to the service at a base URL. */
export function serveRemoteTools(baseUrl: string, key: string): void {
  const url = `${baseUrl.replace(/\/+$/, '')}/mcp`;
  serveStdio(() =>
    createMcpServer(async (name, args, signal) => {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
      try {
        const { response, text } = await callService(url, key, message, signal);
        return readResult(response, text);
      } catch (error) {
        return failure(`${error instanceof Error ? error.message : String(error)}.`);
      }
    }),
  );
}

function readResult(response: Response, text: string): CallToolResult {
  const body = parseObject(text);
  if (response.ok && isCallToolResult(body?.result)) return body.result;
  const retryAfter = response.headers.get('Retry-After');
  const detail = body?.detail ?? (body?.error as { message?: unknown } | undefined)?.message;
  const reason = typeof detail === 'string' ? showInvisible(detail).slice(0, MAX_DETAIL) : 'no result';
  return failure(
    [
      `The service responded ${response.status}: ${reason}.`,
      ADVICE[response.status],
      retryAfter !== null && `Call again in ${retryAfter} seconds.`,
    ]
      .filter(Boolean)
      .join(' '),
  );
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function failure(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] };
}
