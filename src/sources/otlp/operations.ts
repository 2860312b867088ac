import { cleanName, nameMcpOperation } from '../decoding/mcp-operation.js';
import type { Attributes } from './attributes.js';

/** Attributes of which a span with an operation has at least one. */
export const OPERATION_ATTRIBUTES = ['mcp.method.name', 'rpc.method'] as const;

/**
 * The operation of a span by the semantic conventions of MCP and JSON-RPC; null without one. The conventions
 * ask for `_OTHER` where the server does not know the method.
 */
export function findOperation(attributes: Attributes): string | null {
  const mcpMethod = attributes.findText('mcp.method.name');
  if (mcpMethod !== undefined) {
    const targets = mcpMethod.trim() === 'prompts/get' ? PROMPTS : TOOLS;
    return nameMcpOperation(mcpMethod, attributes.findText(...targets));
  }
  if (attributes.findText('rpc.system.name', 'rpc.system') === 'jsonrpc')
    return cleanName(attributes.findText('rpc.method') ?? '') || null;
  return null;
}

const TOOLS = ['gen_ai.tool.name', 'mcp.tool.name'] as const;
const PROMPTS = ['gen_ai.prompt.name', 'mcp.prompt.name'] as const;
