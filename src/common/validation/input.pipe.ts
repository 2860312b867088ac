import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import type { Account } from '../../auth/account.js';
import { type Refusal, ValidationFailure } from './faults.js';
import { type Field, fieldsOf, type RawFields } from './field.js';
import { type CheckedInput, InputCheck, type RawValues } from './input-check.js';

/** What `@Input()` hands to the pipe. */
export interface RawInput {
  readonly raw: RawValues;
  readonly account: Account;
}

type Instance = Record<string, unknown>;

/**
 * Makes the typed input of an operation from what was sent, or one 422 with all its faults (docs/contract.md#order).
 */
@Injectable()
export class InputPipe implements PipeTransform<RawInput, Promise<object>> {
  constructor(private readonly modules: ModuleRef) {}

  /** @throws ValidationFailure */
  async transform({ raw, account }: RawInput, { metatype }: ArgumentMetadata): Promise<object> {
    const inputClass = metatype as Type<Instance>;
    const fields = fieldsOf(inputClass);
    // A class that was imported as a type only is `Object` here: nothing of it would be checked.
    if (fields.length === 0) throw new Error(`${inputClass.name} declares no fields`);
    const input = plainToInstance(inputClass, sourceOf(fields, raw));
    const check = new InputCheck(fields, raw, account, this.resolve);
    refuseUnread(input, check);
    if (isChecked(input)) await input.check(check);
    const faults = check.faults();
    if (faults.length > 0) throw new ValidationFailure(faults);
    return input;
  }

  private readonly resolve = <Provider>(type: Type<Provider>): Provider =>
    this.modules.get(type, { strict: false });
}

/** Only what the class declares: whatever else was sent goes no further. */
function sourceOf(fields: readonly Field[], raw: RawValues): RawFields {
  return Object.fromEntries(fields.map((field) => [field.name, raw[field.in].get(field.name)]));
}

function refuseUnread(input: Instance, check: InputCheck): void {
  for (const { property, value } of validateSync(input, { validationError: { target: false } })) {
    check.refuse(property, value as Refusal);
    input[property] = undefined;
  }
}

function isChecked(input: object): input is CheckedInput {
  return 'check' in input && typeof input.check === 'function';
}
