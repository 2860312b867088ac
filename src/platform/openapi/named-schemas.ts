import { type ReferenceObject, type SchemaObject, getSchemaPath } from '@nestjs/swagger';

const schemas = new Map<string, SchemaObject>();

/**
 * Puts a schema among the components of the document, so that generated clients have a type of this name.
 *
 * @throws Error if another schema has the name
 */
export function nameSchema(name: string, schema: SchemaObject): ReferenceObject {
  const existing = schemas.get(name);
  if (existing && JSON.stringify(existing) !== JSON.stringify(schema))
    throw new Error(`There is another schema of the name ${name}`);
  schemas.set(name, schema);
  return { $ref: getSchemaPath(name) };
}

/** The named schemas that a document refers to, directly or by another one of them. */
export function collectNamedSchemas(document: object): Record<string, SchemaObject> {
  const found = new Map<string, SchemaObject>();
  const search = (node: object) => {
    for (const [, name = ''] of JSON.stringify(node).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      const schema = schemas.get(name);
      if (!schema || found.has(name)) continue;
      found.set(name, schema);
      search(schema);
    }
  };
  search(document);
  return Object.fromEntries(found);
}
