import type { Account } from '../common/account.js';
import { parseJson } from '../common/json/parse-json.js';
import { type Field, decodeFor, findSent } from './field.decorator.js';
import {
  type ConstraintViolation,
  type InvalidParts,
  type Place,
  type ValidationIssue,
  createIssue,
} from './issues.js';
import { listInvalidParts } from './json-list.js';

/** The parameters of a request by name, each still escaped as it was sent; the members of its body as JSON text. */
export type RawValues = Readonly<Record<Place, ReadonlyMap<string, string>>>;

/** An input class whose fields must also fit together. */
export interface CrossFieldValidated {
  /**
   * Called after the validation of each field; an invalid field is `undefined`. Issues that it adds are in the
   * same 422. May set derived values on the input.
   */
  validate(context: ValidationContext<this>): void;
}

/** A provider that checks inputs, also against what the application knows; it passes by those that do not concern it. */
export abstract class InputValidator {
  /** Called after the input's own `validate`, for which the same holds. */
  abstract validate(input: object, context: ValidationContext): Promise<void>;
}

/** The context of a request during validation; collects issues. */
export class ValidationContext<Input = Record<string, unknown>> {
  private readonly violations = new Map<string, ConstraintViolation | InvalidParts>();

  constructor(
    private readonly fields: readonly Field[],
    private readonly raw: RawValues,
    readonly account: Account,
  ) {}

  /** Adds issues for a field, unless it already has one. */
  addIssue(name: keyof Input & string, violation: ConstraintViolation | InvalidParts): void {
    if (!this.violations.has(name)) this.violations.set(name, violation);
  }

  /** Whether none of these fields has an issue so far. */
  isValid(...names: (keyof Input & string)[]): boolean {
    return names.every((name) => !this.violations.has(name));
  }

  /** All issues so far in the contract's order (docs/contract.md#order). */
  issues(): ValidationIssue[] {
    return this.fields.flatMap((field) => {
      const { name, raw } = findSent(field, this.raw[field.in]);
      const parts = listInvalidParts(this.violations.get(field.name), [name], this.decode(field.in, raw));
      return parts.map(({ path, input, violation }) => createIssue(field.in, path, input, violation));
    });
  }

  /** The decoded value if possible, because clients recognize it; the whole body for a missing member. */
  private decode(place: Place, raw: string | undefined): unknown {
    if (place !== 'body') return raw === undefined ? null : (decodeFor(place, raw) ?? raw);
    return raw === undefined ? this.body() : parseJson(raw);
  }

  /** The members of the body, as they were sent. */
  body(): object {
    return Object.fromEntries(Array.from(this.raw.body, ([name, json]) => [name, parseJson(json)]));
  }
}
