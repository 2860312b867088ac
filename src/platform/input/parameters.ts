import type { SchemaObject } from '@nestjs/swagger';
import { decodePathText, decodeQueryText } from '../http/raw-query.js';
import type { Place } from './issues.js';

interface ParameterOptions {
  readonly description: string;
  readonly examples?: unknown[];
}

interface PathParameterOptions extends ParameterOptions {
  /** The value that the page of the document fills in. */
  readonly prefilled?: string | number;
}

interface QueryParameterOptions extends ParameterOptions {
  /** The older name, which is read if the current name is absent, and the older words for its values. */
  readonly older?: { readonly name: string; readonly words: Readonly<Record<string, string>> };
}

interface BodyMemberOptions extends ParameterOptions {
  /** The part of the schema that the constraints of the property do not give. */
  readonly schema?: SchemaObject;
  /** The name of the enum in the document: of the member, or of its items. */
  readonly enumName?: string;
}

/** A declared parameter of an input class. */
export interface Parameter extends PathParameterOptions, QueryParameterOptions, BodyMemberOptions {
  readonly in: Place;
  readonly name: string;
}

const declared = new Map<unknown, Map<string, Parameter>>();
const collected = new Map<unknown, readonly Parameter[]>();

/**
 * Declares a property of an input class as a parameter of the path, and documents it. Its other decorators
 * convert it (`conversions.ts`) and check it (class-validator, `constraints.ts`); the document shows what
 * they check.
 */
export const PathParameter = (options: PathParameterOptions) => declare({ in: 'path', ...options });

/** Declares a parameter of the query. Its default is the initial value of the property. */
export const QueryParameter = (options: QueryParameterOptions) => declare({ in: 'query', ...options });

/** Declares a member of the JSON body. Without `@IsOptional()` it is required. */
export const BodyMember = (options: BodyMemberOptions) => declare({ in: 'body', ...options });

function declare(parameter: Omit<Parameter, 'name'>): PropertyDecorator {
  return ({ constructor }, name) => {
    const ownParameters = declared.get(constructor) ?? new Map<string, Parameter>();
    declared.set(constructor, ownParameters.set(String(name), { ...parameter, name: String(name) }));
  };
}

/** The parameters of an input class in the order of validation: by place, and inherited parameters first. */
export function getParameters(inputClass: object): readonly Parameter[] {
  const cached = collected.get(inputClass);
  if (cached) return cached;
  const parameters = [...inherited(inputClass).values()];
  const ordered = (['path', 'query', 'body'] as const).flatMap((place) =>
    parameters.filter((parameter) => parameter.in === place),
  );
  collected.set(inputClass, ordered);
  return ordered;
}

function inherited(inputClass: unknown): Map<string, Parameter> {
  if (typeof inputClass !== 'function') return new Map();
  const parameters = inherited(Object.getPrototypeOf(inputClass));
  for (const [name, ownParameters] of declared.get(inputClass) ?? []) parameters.set(name, ownParameters);
  return parameters;
}

/** The name under which a parameter was sent, and the value as it was sent. */
export function findSent<Value>(
  { name, older }: Parameter,
  values: ReadonlyMap<string, Value>,
): { name: string; raw: Value | undefined } {
  const raw = values.get(name);
  const olderRaw = raw === undefined && older ? values.get(older.name) : undefined;
  return older && olderRaw !== undefined ? { name: older.name, raw: olderRaw } : { name, raw };
}

/** The decoded text of a URL value; undefined if it is malformed. */
export function decodeFor(place: Exclude<Place, 'body'>, raw: string): string | undefined {
  return place === 'path' ? decodePathText(raw) : decodeQueryText(raw);
}
