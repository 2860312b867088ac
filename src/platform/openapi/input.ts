import { type Type, applyDecorators } from '@nestjs/common';
import { ApiBody, ApiParam, ApiQuery, type SchemaObject } from '@nestjs/swagger';
import { buildSchema, isOptional } from '../input/constraints.js';
import { type Parameter, getParameters } from '../input/parameters.js';
import { nameSchema } from './named-schemas.js';

/** Examples of a body, by name. */
export type Bodies = Readonly<Record<string, { summary: string; value: object }>>;

/** Documents the parameters and the body of an operation from the properties of its input class. */
export function apiInput(inputClass: Type, bodies?: Bodies): MethodDecorator {
  const parameters = getParameters(inputClass);
  const members = parameters.filter((parameter) => parameter.in === 'body');
  return applyDecorators(
    ...parameters
      .filter((parameter) => parameter.in !== 'body')
      .map((parameter) => documented(inputClass, parameter)),
    ...(members.length > 0 ? [documentedBody(inputClass, members, bodies)] : []),
  );
}

function documented(inputClass: Type, parameter: Parameter): MethodDecorator {
  const { name, description, prefilled } = parameter;
  const schema = buildParameterSchema(inputClass, parameter);
  return parameter.in === 'path'
    ? ApiParam({
        name,
        description,
        schema,
        ...(prefilled !== undefined && { examples: { demo: { value: prefilled } } }),
      })
    : ApiQuery({ name, description, required: false, schema });
}

function documentedBody(inputClass: Type, members: readonly Parameter[], bodies?: Bodies): MethodDecorator {
  const properties = members.map((member) => [
    member.name,
    { ...buildMemberSchema(inputClass, member), description: member.description },
  ]);
  const required = members.map(({ name }) => name).filter((name) => !isOptional(inputClass, name));
  return ApiBody({
    required: true,
    description: 'The query. Unknown members are ignored; null is the same as an absent member.',
    // Not named: openapi-typescript takes members with a default of a named schema for required.
    schema: {
      type: 'object',
      required,
      properties: Object.fromEntries(properties) as Record<string, object>,
    },
    ...(bodies && { examples: bodies }),
  });
}

function buildParameterSchema(inputClass: Type, { name, schema, examples }: Parameter) {
  const initial = (new inputClass() as Readonly<Record<string, unknown>>)[name];
  return {
    ...buildSchema(inputClass, name),
    ...schema,
    ...(initial !== undefined && { default: initial }),
    ...(examples && { examples }),
  };
}

/** An optional member may also be null. */
function buildMemberSchema(inputClass: Type, member: Parameter) {
  const { enumName } = member;
  const { enum: words, items, ...schema } = buildParameterSchema(inputClass, member);
  const isNullable = isOptional(inputClass, member.name);
  if (words && enumName !== undefined) {
    const { type, ...others } = schema;
    const named = nameSchema(enumName, { type, enum: words });
    return { ...others, ...(isNullable ? { anyOf: [named, { type: 'null' }] } : { allOf: [named] }) };
  }
  return {
    ...schema,
    type: isNullable ? [schema.type, 'null'] : schema.type,
    ...(words && { enum: isNullable ? [...(words as string[]), null] : words }),
    ...(items && { items: enumName === undefined ? items : nameSchema(enumName, items as SchemaObject) }),
  };
}
