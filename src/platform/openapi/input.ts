import { type Type, applyDecorators } from '@nestjs/common';
import { ApiBody, ApiParam, ApiQuery } from '@nestjs/swagger';
import { buildSchema, isOptional } from '../input/constraints.js';
import { type Parameter, getParameters } from '../input/parameters.js';

/** Documents the parameters and the body of an operation from the properties of its input class. */
export function apiInput(inputClass: Type): MethodDecorator {
  const parameters = getParameters(inputClass);
  const members = parameters.filter((parameter) => parameter.in === 'body');
  return applyDecorators(
    ...parameters
      .filter((parameter) => parameter.in !== 'body')
      .map((parameter) => documented(inputClass, parameter)),
    ...(members.length > 0 ? [documentedBody(inputClass, members)] : []),
  );
}

function documented(inputClass: Type, parameter: Parameter): MethodDecorator {
  const { name, description } = parameter;
  const schema = buildParameterSchema(inputClass, parameter);
  return parameter.in === 'path'
    ? ApiParam({ name, description, schema })
    : ApiQuery({ name, description, required: false, schema });
}

function documentedBody(inputClass: Type, members: readonly Parameter[]): MethodDecorator {
  const properties = members.map((member) => [
    member.name,
    { ...buildMemberSchema(inputClass, member), description: member.description },
  ]);
  const required = members.map(({ name }) => name).filter((name) => !isOptional(inputClass, name));
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
  const schema = buildParameterSchema(inputClass, member);
  if (!isOptional(inputClass, member.name)) return schema;
  const nullableType = { type: [schema.type, 'null'] };
  return schema.enum
    ? { ...schema, ...nullableType, enum: [...(schema.enum as string[]), null] }
    : { ...schema, ...nullableType };
}
