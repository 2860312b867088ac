import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base';

/** What a tool responds, as a client reads it. */
export interface ToolResponse {
  text: string;
  structured: {
    window: { since: string; until: string; timezone: string };
    untrusted: { notice: string; columns: string[]; rows: (string | number | null)[][] } & Record<
      string,
      unknown
    >;
    left_out: string[];
    next?: Record<string, unknown>;
  } & Record<string, unknown>;
  isError: boolean;
  /** Of the larger of its two forms as JSON, by the tokenizer that finds more; counted when it is read. */
  readonly tokens: number;
}

/** Tokens of a value as JSON, by the tokenizer that finds more of them. */
export function countTokens(value: unknown): number {
  const text = JSON.stringify(value);
  return Math.max(countO200k(text), countCl100k(text));
}

/** The SDK's own client, connected over HTTP. */
export async function connectClient(
  url: string,
  headers: Record<string, string>,
  mode: 'legacy' | 'auto' = 'legacy',
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } }));
  return client;
}

/** Calls a tool. */
export async function callTool(client: Client, name: string, args: object = {}): Promise<ToolResponse> {
  const result = await client.callTool({ name, arguments: args as Record<string, unknown> });
  const [content] = result.content as { type: 'text'; text: string }[];
  return {
    text: content!.text,
    structured: result.structuredContent as ToolResponse['structured'],
    isError: result.isError === true,
    get tokens() {
      return Math.max(countTokens(result.content), countTokens(result.structuredContent ?? null));
    },
  };
}

/** Rows of a result by column. */
export function readRows({
  structured: { untrusted },
}: ToolResponse): Record<string, string | number | null>[] {
  return untrusted.rows.map((row) =>
    Object.fromEntries(untrusted.columns.map((column, index) => [column, row[index] ?? null])),
  );
}
