import { readFileSync } from 'node:fs';
import type { HeaderObject, OpenAPIObject, OperationObject, ParameterObject } from '@nestjs/swagger';

/** JSON Schema as the document uses it for parameters and headers. */
interface ValueSchema {
  type: 'integer' | 'string' | 'boolean';
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  enum?: string[];
  default?: number | string | boolean;
  examples?: (number | string | boolean)[];
}

/** A parameter whose schema is one of those. */
export interface Parameter extends Omit<ParameterObject, 'schema'> {
  in: 'path' | 'query';
  schema: ValueSchema;
}

/** One of the document's operations. */
export interface Operation {
  id: string;
  method: 'get' | 'post';
  /** With parameters in braces. */
  path: string;
  parameters: Parameter[];
  definition: OperationObject;
}

/** The committed document. */
export const document = JSON.parse(readFileSync('test/contract/openapi.json', 'utf8')) as OpenAPIObject;

const METHODS = ['get', 'post'] as const;

export const allOperations: readonly Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  METHODS.flatMap((method) => {
    const definition = methods[method];
    if (!definition) return [];
    const parameters = (definition.parameters ?? []) as Parameter[];
    return [{ id: definition.operationId!, method, path, parameters, definition }];
  }),
);

/** Those that are a GET. */
export const operations = allOperations.filter(({ method }) => method === 'get');

/** The object that a reference stands for, or the object itself. */
export function resolve<Target>(node: Target | { $ref: string }): Target {
  if (typeof node !== 'object' || node === null || !('$ref' in node)) return node;
  const keys = node.$ref.slice(2).split('/');
  return keys.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], document) as Target;
}

/** What the document says of an operation's answer; undefined where it does not know the status. */
export function getResponse(operation: Operation, status: number) {
  const response = operation.definition.responses[status];
  if (!response) return undefined;
  const { headers = {}, content } = resolve(response);
  return {
    headers: Object.entries(headers).map(([name, header]) => ({ name, ...resolve<HeaderObject>(header) })),
    content: content ?? {},
  };
}

/** The path with its parameters filled in: texts go as they are, so that a test decides on the escapes. */
export function fill(path: string, values: Readonly<Record<string, string | number>>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
}
