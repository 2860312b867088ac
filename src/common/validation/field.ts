import { Transform } from 'class-transformer';
import { ValidateBy } from 'class-validator';
import { decodePathText, decodeQueryText } from '../http/raw-query.js';
import { type Place, Refusal, notUnicode } from './faults.js';

/** The JSON Schema of a parameter, as the OpenAPI document shows it. */
export interface FieldSchema {
  readonly type: 'integer' | 'string';
  readonly format?: 'uuid';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly enum?: string[];
  readonly examples?: (number | string)[];
}

/** What every kind of field is told. */
export interface FieldOptions<Value> {
  /** Default: `query`. */
  readonly in?: Place;
  readonly description: string;
  /** The value when none is sent. Without one, it is `undefined`. */
  readonly default?: Value;
  readonly examples?: (number | string)[];
}

/** A kind of field: how its text is read, and how it is documented. */
export interface FieldKind<Value> {
  readonly schema: FieldSchema;
  /** The value that a text stands for; `undefined` when it says the same as no value at all. */
  read(text: string): Value | Refusal | undefined;
}

/** One declared parameter of an input class. */
export interface Field extends FieldKind<unknown>, FieldOptions<unknown> {
  readonly in: Place;
  readonly name: string;
}

/** What the property of a field can hold: `undefined` too, unless the path or a default always gives a value. */
export type Held<Value, Options> = Options extends { in: 'path' } | { default: unknown }
  ? Value
  : Value | undefined;

/** A decorator that only compiles on a property to which every `Value` can be assigned. */
export type FieldDecorator<Value> = <Class, Name extends keyof Class & string>(
  prototype: Class & ([Value] extends [Class[Name]] ? unknown : never),
  name: Name,
) => void;

/** What class-transformer makes an input of: the fields that were sent, each still escaped. */
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

/** The fields of an input class in the order in which they are judged: path before query, inherited before own. */
export function fieldsOf(inputClass: object): readonly Field[] {
  const known = collected.get(inputClass);
  if (known) return known;
  const fields = [...inherited(inputClass).values()];
  const ordered = (['path', 'query'] as const).flatMap((place) => fields.filter((one) => one.in === place));
  collected.set(inputClass, ordered);
  return ordered;
}

/** The text that was sent for a field, or undefined when what was sent is no text. */
export function decodeFor(place: Place, raw: string): string | undefined {
  return place === 'path' ? decodePathText(raw) : decodeQueryText(raw);
}

/** Reading is checking: a value that could not be read is a `Refusal`, and that is all there is to validate. */
const accepted = ValidateBy({
  name: 'accepted',
  validator: {
    validate: (value) => !(value instanceof Refusal),
    defaultMessage: () => '$property was refused',
  },
});

function valueOf(field: Field, raw: string | undefined): unknown {
  if (raw === undefined) return field.default;
  const text = decodeFor(field.in, raw);
  return text === undefined ? notUnicode : (field.read(text) ?? field.default);
}

function inherited(inputClass: unknown): Map<string, Field> {
  if (typeof inputClass !== 'function') return new Map();
  const fields = inherited(Object.getPrototypeOf(inputClass));
  for (const [name, own] of declared.get(inputClass) ?? []) fields.set(name, own);
  return fields;
}
