import type { OutgoingHttpHeaders } from 'node:http';
import { Controller, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import {
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  isLegacyRequest,
} from '@modelcontextprotocol/server';
import type { Request as HttpRequest, Response as HttpResponse } from 'express';
import { CurrentAccount } from '../access/keys/account.decorator.js';
import { readBody } from '../platform/http/request-body.js';
import { AcceptsBearer } from '../access/keys/accepts-bearer.decorator.js';
import type { Account } from '../platform/http/account.js';
import { parseJson } from '../shared/json/parse-json.js';
import { parseJsonBody } from '../platform/input/json-body.js';
import { createMcpServer } from './mcp-server.js';
import { ToolRunner } from './tool-runner.js';

/** Larger than any legitimate call. */
const MAX_BYTES = 64 * 1024;
/** The protocol requires clients to accept both; the response is always JSON. */
const BOTH_TYPES = 'application/json, text/event-stream';
/** JSON-RPC 2.0, section 5.1. */
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const NO_BATCHES = 'Batches are not supported: send one message in a request';

/**
 * The Model Context Protocol over HTTP without sessions: each request has its own server, which only has that
 * request's account.
 */
@ApiExcludeController()
@Controller('mcp')
export class McpController {
  constructor(private readonly runner: ToolRunner) {}

  @Post()
  @AcceptsBearer()
  async handle(
    @CurrentAccount() account: Account,
    @Req() request: HttpRequest,
    @Res() response: HttpResponse,
  ): Promise<void> {
    const bytes = await readBody(request, MAX_BYTES, () => undefined);
    const { issue } = parseJsonBody(bytes);
    const isBatch = /^\s*\[/.test(bytes.toString('latin1'));
    const result = isBatch
      ? rejectMessage(INVALID_REQUEST, NO_BATCHES)
      : issue
        ? rejectMessage(PARSE_ERROR, `Parse error: ${issue.msg}`)
        : await this.serve(account, request, parseJson(bytes.toString()));
    response
      .status(result.status)
      .set(Object.fromEntries(result.headers) as OutgoingHttpHeaders as Record<string, string>)
      .set('Cache-Control', 'no-store')
      .send(Buffer.from(await result.arrayBuffer()));
  }

  /**
   * Serves the revision of 2026 and, for requests without its envelope, earlier revisions, also with a
   * response in JSON.
   */
  private async serve(
    account: Account,
    { headers, url }: HttpRequest,
    parsedBody: unknown,
  ): Promise<Response> {
    const createServer = (): McpServer =>
      createMcpServer((name, args) => this.runner.run(account, name, args));
    const message = new Request(new URL(url, 'http://localhost'), {
      method: 'POST',
      headers: selectHeaders(headers),
    });
    if (!(await isLegacyRequest(message, parsedBody)))
      return createMcpHandler(createServer).fetch(message, { parsedBody });
    const server = createServer();
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport);
    try {
      return await transport.handleRequest(message, { parsedBody });
    } finally {
      await server.close();
    }
  }
}

/** The headers that the protocol reads. A client that accepts JSON accepts every response. */
function selectHeaders(headers: HttpRequest['headers']): Record<string, string> {
  const { accept = '*/*' } = headers;
  const takesJson = /(?:application\/(?:json|\*)|\*\/\*)/.test(accept);
  return {
    ...Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) =>
        typeof value === 'string' && (name === 'content-type' || name.startsWith('mcp-'))
          ? [[name, value]]
          : [],
      ),
    ),
    accept: takesJson ? BOTH_TYPES : accept,
  };
}

function rejectMessage(code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status: 400 });
}
