import type { SchemaObject } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy } from 'class-validator';
import { decodePathText, decodeQueryText } from '../http/raw-query.js';
import { PartRefusals, type Place, Refusal, missing, notUnicode } from './faults.js';

/** The JSON Schema of a parameter, as the OpenAPI document shows it. */
export interface FieldSchema {
  readonly type: 'integer' | 'number' | 'string' | 'boolean' | 'array' | 'object';
  readonly format?: 'uuid';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly enum?: string[];
  readonly items?: SchemaObject;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Record<string, SchemaObject>;
  readonly required?: string[];
}

/** What every kind of field is told. */
export interface FieldOptions<Value> {
  /** Default: `query`. */
  readonly in?: Place;
  readonly description: string;
  /** Whether a member of the body must be there; a part of the path always is. */
  readonly required?: boolean;
  /** The value when none is sent. Without one, it is `undefined`. */
  readonly default?: Value;
  readonly examples?: unknown[];
  /** The name that it had before, which is read where the present one is missing, and the words that meant its values. */
  readonly older?: { readonly name: string; readonly words: Readonly<Record<string, string>> };
}

/** A kind of field: how its value is read, and how it is documented. */
export interface FieldKind<Value> {
  readonly schema: FieldSchema;
  /** The value that a text stands for; `undefined` when it says the same as no value at all. */
  read(text: string): Value | Refusal | undefined;
  /** The value that a member of a JSON body stands for. @param json its text, which tells `1.0` from `1` */
  readonly readJson: (value: unknown, json: string) => Value | Refusal | PartRefusals | undefined;
}

/** One declared parameter of an input class. */
export interface Field extends FieldKind<unknown>, FieldOptions<unknown> {
  readonly in: Place;
  readonly name: string;
}

/** What the property of a field can hold: `undefined` too, unless there is always a value. */
export type Held<Value, Options> = Options extends { in: 'path' } | { default: unknown } | { required: true }
  ? Value
  : Value | undefined;

/** A decorator that only compiles on a property to which every `Value` can be assigned. */
export type FieldDecorator<Value> = <Class, Name extends keyof Class & string>(
  prototype: Class & ([Value] extends [Class[Name]] ? unknown : never),
  name: Name,
) => void;

/** What class-transformer makes an input of: the fields that were sent, each still escaped, those of the body as JSON text. */
export type RawFields = Readonly<Record<string, string | undefined>>;

const declared = new Map<unknown, Map<string, Field>>();
const collected = new Map<unknown, readonly Field[]>();
const CLASS_ONLY = { toClassOnly: true };

/** Declares a property as a parameter: registers it for the document, converts it, checks it. */
export function field<Value, Options extends FieldOptions<Value>>(
  kind: FieldKind<Value>,
  options: Options,
): FieldDecorator<Held<Value, Options>> {
  return (prototype, name) => {
    const target = prototype as object;
    const declaration: Field = { in: 'query', ...kind, ...options, name };
    const own = declared.get(target.constructor) ?? new Map<string, Field>();
    declared.set(target.constructor, own.set(name, declaration));
    Transform(({ value }) => valueOf(declaration, value as string | undefined), CLASS_ONLY)(target, name);
    accepted(target, name);
  };
}

/** The fields of an input class in the order in which they are judged: by place, inherited before own. */
export function fieldsOf(inputClass: object): readonly Field[] {
  const known = collected.get(inputClass);
  if (known) return known;
  const fields = [...inherited(inputClass).values()];
  const ordered = (['path', 'query', 'body'] as const).flatMap((place) =>
    fields.filter((one) => one.in === place),
  );
  collected.set(inputClass, ordered);
  return ordered;
}

/** Under which of its names a field was sent, and the value as it was sent. */
export function findSent(
  { name, older }: Field,
  values: ReadonlyMap<string, string>,
): { name: string; raw: string | undefined } {
  const raw = values.get(name);
  const olderRaw = raw === undefined && older ? values.get(older.name) : undefined;
  return older && olderRaw !== undefined ? { name: older.name, raw: olderRaw } : { name, raw };
}

/** The same in present words. */
export function findPresent(field: Field, values: ReadonlyMap<string, string>): string | undefined {
  const { name, raw } = findSent(field, values);
  const words = name === field.name ? {} : (field.older?.words ?? {});
  return raw !== undefined && Object.hasOwn(words, raw) ? words[raw] : raw;
}

/** The text that was sent in a URL, or undefined when what was sent is no text. */
export function decodeFor(place: Exclude<Place, 'body'>, raw: string): string | undefined {
  return place === 'path' ? decodePathText(raw) : decodeQueryText(raw);
}

/** Reading is checking: a value that could not be read is a refusal, and that is all there is to validate. */
const accepted = ValidateBy({
  name: 'accepted',
  validator: {
    validate: (value) => !(value instanceof Refusal || value instanceof PartRefusals),
    defaultMessage: () => '$property was refused',
  },
});

function valueOf(field: Field, raw: string | undefined): unknown {
  if (field.in === 'body') return memberValue(field, raw);
  if (raw === undefined) return field.default;
  const text = decodeFor(field.in, raw);
  return text === undefined ? notUnicode : (field.read(text) ?? field.default);
}

function memberValue(field: Field, json: string | undefined): unknown {
  const value: unknown = json === undefined ? undefined : JSON.parse(json);
  const isRequired = field.required === true;
  if (value === undefined) return isRequired ? missing : field.default;
  // Clients write null for what they leave out.
  return value === null && !isRequired ? field.default : (field.readJson(value, json ?? '') ?? field.default);
}

function inherited(inputClass: unknown): Map<string, Field> {
  if (typeof inputClass !== 'function') return new Map();
  const fields = inherited(Object.getPrototypeOf(inputClass));
  for (const [name, own] of declared.get(inputClass) ?? []) fields.set(name, own);
  return fields;
}
