import type { Type } from '@nestjs/common';
import type { Account } from '../../auth/account.js';
import { type Fault, faultAt, type Place, type Refusal } from './faults.js';
import { decodeFor, type Field } from './field.js';

/** The parameters of a request by name, each still escaped as it was sent. */
export type RawValues = Readonly<Record<Place, ReadonlyMap<string, string>>>;

/** An input class whose fields must also fit together, or fit the account. */
export interface CheckedInput {
  /**
   * Called when each field has been judged by itself; a field that was refused is `undefined`. What is refused here
   * joins the same 422. May leave on the input what it worked out.
   */
  check(check: InputCheck<this>): void | Promise<void>;
}

/** What is known of a request while its input is judged, and where more faults are told. */
export class InputCheck<Input = Record<string, unknown>> {
  private readonly refusals = new Map<string, Refusal>();

  constructor(
    private readonly fields: readonly Field[],
    private readonly raw: RawValues,
    readonly account: Account,
    /** A provider of the application, by its class. */
    readonly resolve: <Provider>(type: Type<Provider>) => Provider,
  ) {}

  /** Refuses the value of a field, unless it was refused already: a field has one fault at most. */
  refuse(name: keyof Input & string, refusal: Refusal): void {
    if (!this.refusals.has(name)) this.refusals.set(name, refusal);
  }

  /** Whether none of these fields was refused so far. */
  accepts(...names: (keyof Input & string)[]): boolean {
    return names.every((name) => !this.refusals.has(name));
  }

  /** All faults so far in the contract's order (docs/contract.md#order). */
  faults(): Fault[] {
    return this.fields.flatMap((field) => {
      const refusal = this.refusals.get(field.name);
      return refusal ? [faultAt(field.in, field.name, this.sent(field), refusal)] : [];
    });
  }

  /** Decoded where it can be: that is what a client recognizes. */
  private sent(field: Field): string | null {
    const raw = this.raw[field.in].get(field.name);
    return raw === undefined ? null : (decodeFor(field.in, raw) ?? raw);
  }
}
