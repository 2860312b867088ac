import type { SchemaObject } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy } from 'class-validator';
import { parseJson } from '../common/json/parse-json.js';
import { decodePathText, decodeQueryText } from '../http/raw-query.js';
import { ConstraintViolation, InvalidParts, type Place, invalidUtf8, missing } from './issues.js';

/** Options of every field type. */
export interface FieldOptions<Value> {
  /** Default: `query`. */
  readonly in?: Place;
  readonly description: string;
  /** Whether a member of the body is required; path parameters always are. */
  readonly required?: boolean;
  /** The default value; without it, `undefined`. */
  readonly default?: Value;
  readonly examples?: unknown[];
  /** The older name, which is read if the current one is absent, and the older words for its values. */
  readonly older?: { readonly name: string; readonly words: Readonly<Record<string, string>> };
}

/** A field type: parsing and documentation of its value. */
export interface FieldType<Value> {
  /** The JSON Schema of a parameter, as the OpenAPI document shows it. */
  readonly schema: SchemaObject & { readonly type: string; readonly enum?: string[] };
  /** Parses a text; `undefined` if it is the same as an absent value. */
  read(text: string): Value | ConstraintViolation | undefined;
  /** Parses a member of a JSON body. @param json its text, in which `1.0` differs from `1` */
  readonly readJson: (value: unknown, json: string) => Value | ConstraintViolation | InvalidParts | undefined;
}

/** One declared parameter of an input class. */
export interface Field extends FieldType<unknown>, FieldOptions<unknown> {
  readonly in: Place;
  readonly name: string;
}

/** The type of a field's property: with `undefined`, unless there is always a value. */
export type FieldValue<Value, Options> = Options extends
  { in: 'path' } | { default: unknown } | { required: true }
  ? Value
  : Value | undefined;

/** A decorator that only compiles on a property to which every `Value` can be assigned. */
export type FieldDecorator<Value> = <Class, Name extends keyof Class & string>(
  prototype: Class & ([Value] extends [Class[Name]] ? unknown : never),
  name: Name,
) => void;

const declared = new Map<unknown, Map<string, Field>>();
const collected = new Map<unknown, readonly Field[]>();
const CLASS_ONLY = { toClassOnly: true };

/** Declares a property as a parameter: documents, converts and validates it. */
export function field<Value, Options extends FieldOptions<Value>>(
  fieldType: FieldType<Value>,
  options: Options,
): FieldDecorator<FieldValue<Value, Options>> {
  return (prototype, name) => {
    const target = prototype as object;
    const declaration: Field = { in: 'query', ...fieldType, ...options, name };
    const own = declared.get(target.constructor) ?? new Map<string, Field>();
    declared.set(target.constructor, own.set(name, declaration));
    Transform(({ value }) => parseValue(declaration, value as string | undefined), CLASS_ONLY)(target, name);
    accepted(target, name);
  };
}

/** The fields of an input class in the order of validation: by place, inherited before own. */
export function getFields(inputClass: object): readonly Field[] {
  const known = collected.get(inputClass);
  if (known) return known;
  const fields = [...inherited(inputClass).values()];
  const ordered = (['path', 'query', 'body'] as const).flatMap((place) =>
    fields.filter((one) => one.in === place),
  );
  collected.set(inputClass, ordered);
  return ordered;
}

/** The name under which a field was sent, and the value as it was sent. */
export function findSent(
  { name, older }: Field,
  values: ReadonlyMap<string, string>,
): { name: string; raw: string | undefined } {
  const raw = values.get(name);
  const olderRaw = raw === undefined && older ? values.get(older.name) : undefined;
  return older && olderRaw !== undefined ? { name: older.name, raw: olderRaw } : { name, raw };
}

/** The same with the current words for its values. */
export function findPresent(field: Field, values: ReadonlyMap<string, string>): string | undefined {
  const { name, raw } = findSent(field, values);
  const words = name === field.name ? {} : (field.older?.words ?? {});
  return raw !== undefined && Object.hasOwn(words, raw) ? words[raw] : raw;
}

/** The decoded text of a URL value; undefined if it is malformed. */
export function decodeFor(place: Exclude<Place, 'body'>, raw: string): string | undefined {
  return place === 'path' ? decodePathText(raw) : decodeQueryText(raw);
}

/** The validator of class-validator: conversion already validated the value, so only a violation is left to report. */
const accepted = ValidateBy({
  name: 'accepted',
  validator: {
    validate: (value) => !(value instanceof ConstraintViolation || value instanceof InvalidParts),
    defaultMessage: () => '$property is invalid',
  },
});

function parseValue(field: Field, raw: string | undefined): unknown {
  if (field.in === 'body') return memberValue(field, raw);
  if (raw === undefined) return field.default;
  const text = decodeFor(field.in, raw);
  return text === undefined ? invalidUtf8 : (field.read(text) ?? field.default);
}

function memberValue(field: Field, json: string | undefined): unknown {
  const value: unknown = json === undefined ? undefined : parseJson(json);
  const isRequired = field.required === true;
  if (value === undefined) return isRequired ? missing : field.default;
  // Clients send null for absent values.
  return value === null && !isRequired ? field.default : (field.readJson(value, json ?? '') ?? field.default);
}

function inherited(inputClass: unknown): Map<string, Field> {
  if (typeof inputClass !== 'function') return new Map();
  const fields = inherited(Object.getPrototypeOf(inputClass));
  for (const [name, own] of declared.get(inputClass) ?? []) fields.set(name, own);
  return fields;
}
