import { removeOperation } from './operation.js';

/** An operation of an OpenAPI document, or a route with a summary that a client library reported. */
export interface DescribedRoute {
  method: string;
  /** Its template; in a document relative to its servers. */
  path: string;
  summary: string | null;
  /** What only an operation of a document has. */
  operation?: {
    /** Paths of its servers, without a slash at the end. */
    bases: string[];
    operation_id: string | null;
    tags: string[];
    deprecated: boolean;
    /** UTC, ISO 8601. */
    sunset: string | null;
  };
}

const PARAMETER = /\{[^{}]*\}/g;

/**
 * Equal for templates that differ in the names of parameters, or by a slash at the end. Documents have no
 * operations within an endpoint.
 */
export function toTemplateKey(path: string): string {
  const key = removeOperation(path).replaceAll(PARAMETER, '{}');
  return key.length > 1 && key.endsWith('/') ? key.slice(0, -1) : key;
}
