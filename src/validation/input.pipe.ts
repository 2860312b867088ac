import { type ArgumentMetadata, Injectable, Optional, type PipeTransform, type Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import type { Account } from '../common/account.js';
import { findPresent, getFields } from './field.decorator.js';
import type { ConstraintViolation, InvalidParts } from './issues.js';
import { ValidationException } from './validation.exception.js';
import { type JsonBody, NO_BODY } from './json-body.js';
import {
  type CrossFieldValidated,
  InputValidator,
  type RawValues,
  ValidationContext,
} from './validation-context.js';

/** The value that `@Input()` passes to the pipe. */
export interface RawInput extends Pick<RawValues, 'path' | 'query'> {
  /** Called if the input class has members of a body. */
  readonly readBody: () => Promise<JsonBody>;
  readonly account: Account;
}

type Instance = Record<string, unknown>;

/**
 * Creates the typed input of an operation, or responds 422 with all validation issues (docs/contract.md#order).
 */
@Injectable()
export class InputPipe implements PipeTransform<RawInput, Promise<object>> {
  constructor(@Optional() private readonly validator?: InputValidator) {}

  /** @throws ValidationException, or errors of reading the body */
  async transform(
    { path, query, readBody, account }: RawInput,
    { metatype }: ArgumentMetadata,
  ): Promise<object> {
    const inputClass = metatype as Type<Instance>;
    const declared = getFields(inputClass);
    // A class that was imported as a type only is `Object` here and would not be validated.
    if (declared.length === 0) throw new Error(`${inputClass.name} declares no fields`);
    const hasBody = declared.some((field) => field.in === 'body');
    const { members, issue } = hasBody ? await readBody() : NO_BODY;
    // Members of an invalid body are not validated.
    const fields = issue ? declared.filter((field) => field.in !== 'body') : declared;
    const raw = { path, query, body: members };
    // The sent fields, still escaped, members of the body as JSON text; all that is not declared is dropped.
    const sent = fields.map((field) => [field.name, findPresent(field, raw[field.in])] as const);
    const input = plainToInstance(inputClass, Object.fromEntries(sent));
    const context = new ValidationContext(fields, raw, account);
    addFieldIssues(input, context);
    if (!issue) {
      if (isCrossFieldValidated(input)) input.validate(context);
      await this.validator?.validate(input, context);
    }
    const issues = [...context.issues(), ...(issue ? [issue] : [])];
    if (issues.length > 0) throw new ValidationException(issues);
    return input;
  }
}

function addFieldIssues(input: Instance, context: ValidationContext): void {
  for (const { property, value } of validateSync(input, { validationError: { target: false } })) {
    context.addIssue(property, value as ConstraintViolation | InvalidParts);
    input[property] = undefined;
  }
}

function isCrossFieldValidated(input: object): input is CrossFieldValidated {
  return 'validate' in input && typeof input.validate === 'function';
}
