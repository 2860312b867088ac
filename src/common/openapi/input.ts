import { applyDecorators, type Type } from '@nestjs/common';
import { ApiParam, ApiQuery } from '@nestjs/swagger';
import { type Field, fieldsOf } from '../validation/field.js';

/** Documents the parameters of an operation from the very fields that read them. */
export function apiInput(inputClass: Type): MethodDecorator {
  return applyDecorators(...fieldsOf(inputClass).map(documented));
}

function documented({ name, in: place, description, schema, examples, ...field }: Field): MethodDecorator {
  const full = {
    ...schema,
    ...(field.default !== undefined && { default: field.default }),
    ...(examples && { examples }),
  };
  return place === 'path'
    ? ApiParam({ name, description, schema: full })
    : ApiQuery({ name, description, required: false, schema: full });
}
