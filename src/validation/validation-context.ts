import type { Account } from '../common/account.js';
import { type Field, decodeFor, findSent } from './field.decorator.js';
import {
  type ConstraintViolation,
  type PartRefusals,
  type Place,
  type ValidationIssue,
  createIssue,
} from './issues.js';
import { refusedParts } from './json-list.js';

/** The parameters of a request by name, each still escaped as it was sent; the members of its body as JSON text. */
export type RawValues = Readonly<Record<Place, ReadonlyMap<string, string>>>;

/** An input class whose fields must also fit together. */
export interface CrossFieldValidated {
  /**
   * Called when each field has been judged by itself; a field that was refused is `undefined`. What is refused here
   * joins the same 422. May leave on the input what it worked out.
   */
  validate(context: ValidationContext<this>): void;
}

/** A provider that checks inputs, also against what the application knows; it passes by those that do not concern it. */
export abstract class InputValidator {
  /** Called after the input's own `validate`, for which the same holds. */
  abstract validate(input: object, context: ValidationContext): Promise<void>;
}

/** What is known of a request while its input is judged, and where more faults are told. */
export class ValidationContext<Input = Record<string, unknown>> {
  private readonly violations = new Map<string, ConstraintViolation | PartRefusals>();

  constructor(
    private readonly fields: readonly Field[],
    private readonly raw: RawValues,
    readonly account: Account,
  ) {}

  /** Refuses the value of a field, or parts of it, unless it was refused already. */
  addIssue(name: keyof Input & string, violation: ConstraintViolation | PartRefusals): void {
    if (!this.violations.has(name)) this.violations.set(name, violation);
  }

  /** Whether none of these fields was refused so far. */
  isValid(...names: (keyof Input & string)[]): boolean {
    return names.every((name) => !this.violations.has(name));
  }

  /** All faults so far in the contract's order (docs/contract.md#order). */
  issues(): ValidationIssue[] {
    return this.fields.flatMap((field) => {
      const { name, raw } = findSent(field, this.raw[field.in]);
      const parts = refusedParts(this.violations.get(field.name), [name], this.decode(field.in, raw));
      return parts.map(({ path, input, refusal: violation }) =>
        createIssue(field.in, path, input, violation),
      );
    });
  }

  /** Decoded where it can be: that is what a client recognizes. Of a member that is missing, the whole body. */
  private decode(place: Place, raw: string | undefined): unknown {
    if (place !== 'body') return raw === undefined ? null : (decodeFor(place, raw) ?? raw);
    return raw === undefined ? this.body() : JSON.parse(raw);
  }

  /** The members of the body, as they were sent. */
  body(): object {
    return Object.fromEntries(
      Array.from(this.raw.body, ([name, json]) => [name, JSON.parse(json) as unknown]),
    );
  }
}
