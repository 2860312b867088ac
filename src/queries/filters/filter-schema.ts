import type { SchemaObject } from '@nestjs/swagger';
import { type FilterField, type FilterFields, MAX_FILTER_VALUES } from './filter-field.js';

/** One alternative for all fields with the same operators and type. */
export function filterSchema(fields: FilterFields): SchemaObject {
  const alternatives = new Map<string, { names: string[]; filterField: FilterField }>();
  for (const [name, filterField] of Object.entries(fields)) {
    const kind = JSON.stringify([
      filterField.operators,
      filterField.schema,
      filterField.hasKey,
      filterField.hasEvents,
    ]);
    const existing = alternatives.get(kind);
    if (existing) existing.names.push(name);
    else alternatives.set(kind, { names: [name], filterField });
  }
  const anyOf = [...alternatives.values()].map(
    ({ names, filterField: { operators, schema, hasKey, hasEvents, isCaseSensitive } }): SchemaObject => {
      const list: SchemaObject = { type: 'array', items: schema, maxItems: MAX_FILTER_VALUES };
      return {
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
      };
    },
  );
  return { anyOf };
}
