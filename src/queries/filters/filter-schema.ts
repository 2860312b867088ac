import type { ReferenceObject, SchemaObject } from '@nestjs/swagger';
import { nameSchema } from '../../platform/openapi/named-schemas.js';
import { type FilterField, type FilterFields, MAX_FILTER_VALUES } from './filter-field.js';

/**
 * One alternative for all fields with the same operators and type, named after the first of them.
 *
 * @param name of the filter in the document
 */
export function filterSchema(name: string, fields: FilterFields): ReferenceObject {
  const alternatives = new Map<string, { names: string[]; filterField: FilterField }>();
  for (const [field, filterField] of Object.entries(fields)) {
    const kind = JSON.stringify([
      filterField.operators,
      filterField.schema,
      filterField.hasKey,
      filterField.hasEvents,
    ]);
    const existing = alternatives.get(kind);
    if (existing) existing.names.push(field);
    else alternatives.set(kind, { names: [field], filterField });
  }
  const anyOf = [...alternatives.values()].map(
    ({ names, filterField: { operators, schema, hasKey, hasEvents, isCaseSensitive } }) => {
      const list: SchemaObject = { type: 'array', items: schema, maxItems: MAX_FILTER_VALUES };
      return nameSchema(`${name}On${toPascalCase(names[0])}`, {
        type: 'object',
        required: ['field', 'op', ...(hasKey && !hasEvents ? ['key'] : [])],
        properties: {
          field: { type: 'string', enum: names },
          op: { type: 'string', enum: [...operators] },
          ...(hasKey && {
            key: {
              type: 'string',
              description: isCaseSensitive
                ? 'Key of the attribute'
                : 'Name of the header, without regard to case',
            },
          }),
          ...(hasEvents && { event_name: { type: 'string', description: 'Name of the event' } }),
          value: {
            description: 'A list for `in` and `not_in`; absent for `is_null` and `is_not_null`',
            anyOf: [schema, list],
          },
        },
      });
    },
  );
  return nameSchema(name, { anyOf });
}

function toPascalCase(name = ''): string {
  return name.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
