import type { Account } from '../http/account.js';
import { type ConstraintViolation, type InvalidParts, type ValidationIssue, createIssue } from './issues.js';
import { toPlainJson } from './json-body.js';
import { listInvalidParts } from './json-list.js';
import { type Parameter, decodeFor, findSent } from './parameters.js';

/**
 * The sent values of a request: its parameters by name, each still escaped, and the members of its body as
 * JSON.
 */
export interface RawValues {
  readonly path: ReadonlyMap<string, string>;
  readonly query: ReadonlyMap<string, string>;
  readonly body: ReadonlyMap<string, unknown>;
}

/** An input class that also validates its fields together. */
export interface CrossFieldValidated {
  /**
   * Called after the validation of each field; an invalid field is `undefined`. Issues that it adds are in
   * the same 422. May set derived values on the input.
   */
  validate(context: ValidationContext<this>): void;
}

/**
 * A provider that checks inputs, also against the application's data. It ignores inputs that it has no rules
 * for.
 */
export abstract class InputValidator {
  /** Called after the input's own `validate`, under the same rules. */
  abstract validate(input: object, context: ValidationContext): Promise<void>;
}

/** The context of a request during validation; collects issues. */
export class ValidationContext<Input = Record<string, unknown>> {
  private readonly violations = new Map<string, ConstraintViolation | InvalidParts>();

  constructor(
    private readonly parameters: readonly Parameter[],
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
    return this.parameters.flatMap((parameter) => {
      const { path, input } = this.findInput(parameter);
      const parts = listInvalidParts(this.violations.get(parameter.name), path, input);
      return parts.map(({ path, input, violation }) =>
        createIssue(parameter.in, path, toPlainJson(input), violation),
      );
    });
  }

  /** The decoded value if possible, because clients recognize it; the whole body for a missing member. */
  private findInput(parameter: Parameter): { path: [string]; input: unknown } {
    if (parameter.in === 'body') {
      const { body } = this.raw;
      const input = body.has(parameter.name) ? body.get(parameter.name) : this.body();
      return { path: [parameter.name], input };
    }
    const { name, raw = null } = findSent(parameter, this.raw[parameter.in]);
    return { path: [name], input: raw === null ? null : (decodeFor(parameter.in, raw) ?? raw) };
  }

  /** The members of the body as they were sent. */
  body(): object {
    return toPlainJson(Object.fromEntries(this.raw.body)) as object;
  }
}
