import { cleanName, nameMcpOperation } from '../decoding/mcp-operation.js';
import type { Attributes } from './attributes.js';

/** A span that names an operation has at least one of these. */
export const OPERATION_ATTRIBUTES = [
  'mcp.method.name',
  'rpc.method',
  'graphql.operation.type',
  'graphql.operation.name',
] as const;

const TOOLS = ['gen_ai.tool.name', 'mcp.tool.name'] as const;
const PROMPTS = ['gen_ai.prompt.name', 'mcp.prompt.name'] as const;

/**
 * The operation of a span by the semantic conventions of MCP, JSON-RPC and GraphQL; null without one. Names
 * of JSON-RPC are those of the server, since the conventions ask for `_OTHER` where it does not know the
 * method; any name of a GraphQL operation is chosen by its client.
 */
export function findOperation(attributes: Attributes, graphql: boolean): string | null {
  const mcpMethod = attributes.findText('mcp.method.name');
  if (mcpMethod !== undefined) {
    const targets = mcpMethod.trim() === 'prompts/get' ? PROMPTS : TOOLS;
    return nameMcpOperation(mcpMethod, attributes.findText(...targets));
  }
  if (attributes.findText('rpc.system.name', 'rpc.system') === 'jsonrpc')
    return join([attributes.findText('rpc.method')]);
  if (!graphql) return null;
  return join(['graphql.operation.type', 'graphql.operation.name'].map((key) => attributes.findText(key)));
}

function join(names: readonly (string | undefined)[]): string | null {
  const parts = names.map((name) => cleanName(name ?? '')).filter((name) => name !== '');
  return parts.length === 0 ? null : parts.join('/');
}
