import { HttpException } from '@nestjs/common';
import type { ValidationIssue } from './issues.js';

/** A 422 with all validation issues of the request. */
export class ValidationException extends HttpException {
  constructor(readonly issues: readonly ValidationIssue[]) {
    super({ detail: issues }, 422);
  }
}
