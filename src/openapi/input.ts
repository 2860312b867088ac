import { type Type, applyDecorators } from '@nestjs/common';
import { ApiBody, ApiParam, ApiQuery } from '@nestjs/swagger';
import { type Field, getFields } from '../validation/field.decorator.js';

/** Documents the parameters and the body of an operation from the fields of its input class. */
export function apiInput(inputClass: Type): MethodDecorator {
  const fields = getFields(inputClass);
  const members = fields.filter((field) => field.in === 'body');
  return applyDecorators(
    ...fields.filter((field) => field.in !== 'body').map(documented),
    ...(members.length > 0 ? [documentedBody(members)] : []),
  );
}

function documented(field: Field): MethodDecorator {
  const { name, description } = field;
  return field.in === 'path'
    ? ApiParam({ name, description, schema: buildSchema(field) })
    : ApiQuery({ name, description, required: false, schema: buildSchema(field) });
}

function documentedBody(members: readonly Field[]): MethodDecorator {
  const properties = members.map((member) => [
    member.name,
    { ...buildMemberSchema(member), description: member.description },
  ]);
  const required = members.filter((member) => member.required).map(({ name }) => name);
  return ApiBody({
    required: true,
    description: 'The query. Unknown members are ignored; null is the same as an absent member.',
    schema: {
      type: 'object',
      required,
      properties: Object.fromEntries(properties) as Record<string, object>,
    },
  });
}

function buildSchema({ schema, examples, ...field }: Field) {
  return {
    ...schema,
    ...(field.default !== undefined && { default: field.default }),
    ...(examples && { examples }),
  };
}

/** What may be absent may be null as well. */
function buildMemberSchema(member: Field) {
  const schema = buildSchema(member);
  if (member.required) return schema;
  const nullableType = { type: [schema.type, 'null'] };
  return schema.enum
    ? { ...schema, ...nullableType, enum: [...schema.enum, null] }
    : { ...schema, ...nullableType };
}
