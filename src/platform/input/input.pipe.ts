import { type ArgumentMetadata, Injectable, Optional, type PipeTransform, type Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import type { Account } from '../http/account.js';
import { describeIgnored } from './ignored.js';
import { findViolation, isOptional } from './constraints.js';
import type { Sent } from './conversions.js';
import { invalidUtf8 } from './issues.js';
import { ValidationException } from './validation.exception.js';
import { type JsonBody, NO_BODY } from './json-body.js';
import { type Parameter, decodeFor, findSent, getParameters } from './parameters.js';
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
  /** Called if parameters of the request have no effect, with their names. */
  readonly reportIgnored?: (names: string) => void;
  readonly account: Account;
}

type Instance = Record<string, unknown>;

/**
 * Creates the typed input of an operation, or responds 422 with all validation issues
 * (docs/contract.md#order).
 */
@Injectable()
export class InputPipe implements PipeTransform<RawInput, Promise<object>> {
  constructor(@Optional() private readonly validator?: InputValidator) {}

  /** @throws ValidationException, or errors of reading the body */
  async transform(
    { path, query, readBody, reportIgnored, account }: RawInput,
    { metatype }: ArgumentMetadata,
  ): Promise<object> {
    const inputClass = metatype as Type<Instance>;
    const declared = getParameters(inputClass);
    // A class that was imported as a type only is `Object` here and would not be validated.
    if (declared.length === 0) throw new Error(`${inputClass.name} declares no parameters`);
    const hasBody = declared.some((parameter) => parameter.in === 'body');
    const { members, issue } = hasBody ? await readBody() : NO_BODY;
    const ignored = describeIgnored(declared, query.keys(), members.keys());
    if (ignored !== undefined) reportIgnored?.(ignored);
    // Members of an invalid body are not validated.
    const parameters = issue ? declared.filter((parameter) => parameter.in !== 'body') : declared;
    const raw = { path, query, body: members };
    const context = new ValidationContext(parameters, raw, account);
    const sent = parameters.map(
      (parameter) => [parameter.name, readSent(inputClass, parameter, raw)] as const,
    );
    // Absent parameters keep the initial value of their property; undeclared ones are dropped.
    const present = sent.filter(([, value]) => value !== undefined);
    const input = plainToInstance(inputClass, Object.fromEntries(present));
    // No decorator converts this parameter.
    for (const [name, value] of Object.entries(input))
      if (typeof value === 'function') input[name] = (value as () => unknown)();
    for (const { property, value, constraints = {} } of validateSync(input)) {
      if (!parameters.some(({ name }) => name === property)) continue;
      context.addIssue(property, findViolation(inputClass, property, value, Object.keys(constraints)));
      input[property] = undefined;
    }
    if (!issue) {
      if (isCrossFieldValidated(input)) input.validate(context);
      await this.validator?.validate(input, context);
    }
    const issues = [...context.issues(), ...(issue ? [issue] : [])];
    if (issues.length > 0) throw new ValidationException(issues);
    return input;
  }
}

/** The value for the conversion; undefined if the parameter was not sent. */
function readSent(inputClass: object, parameter: Parameter, { body, ...url }: RawValues): Sent {
  if (parameter.in === 'body') {
    const value = body.get(parameter.name);
    // Clients send null for absent values.
    const isAbsent = value === undefined || (value === null && isOptional(inputClass, parameter.name));
    return isAbsent ? undefined : () => value;
  }
  const { name, raw } = findSent(parameter, url[parameter.in]);
  if (raw === undefined) return undefined;
  const text = decodeFor(parameter.in, raw);
  if (text === undefined) return () => invalidUtf8;
  const words = name === parameter.name ? {} : (parameter.older?.words ?? {});
  return Object.hasOwn(words, text) ? words[text] : text;
}

function isCrossFieldValidated(input: object): input is CrossFieldValidated {
  return 'validate' in input && typeof input.validate === 'function';
}
