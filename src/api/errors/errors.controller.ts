import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../access/keys/account.decorator.js';
import { QueryOperation } from '../../access/operations/operation.decorators.js';
import type { Account } from '../../platform/http/account.js';
import { AcceptedFormat, type FileResponse } from '../../platform/http/file-response.js';
import { Input } from '../../platform/input/input.decorator.js';
import type { FileFormat } from '../../shared/file-format.js';
import { ErrorRow } from './errors.dto.js';
import { QueryErrorsInput } from './errors.input.js';
import { ErrorsService } from './errors.service.js';

@Controller('v1/apps/:app_id/errors')
export class ErrorsController {
  constructor(private readonly service: ErrorsService) {}

  @QueryOperation({
    id: 'queryErrors',
    tag: 'Errors',
    summary: 'Query Errors',
    description:
      'Returns the errors of one app: a row for each error and environment, the most frequent first, with its number, ' +
      'its consumers, when it came first and last, and its newest request; or a row for each day, hour or consumer of an ' +
      'error. Errors are those that client libraries report and exceptions of failed requests, each counted once. ' +
      'Excluded endpoints are left out. One response has all rows, at most 100,000.',
    input: QueryErrorsInput,
    row: ErrorRow,
    bodies: {
      errors: {
        summary: 'The ten most frequent errors that are kept, as CSV',
        value: { since: '2020-01-01', limit: 10, format: 'csv' },
      },
      days: {
        summary: 'Each day of the most frequent error that is kept',
        value: { since: '2020-01-01', group_by: ['day'], limit: 1, format: 'csv' },
      },
    },
  })
  query(
    @CurrentAccount() account: Account,
    @Input() input: QueryErrorsInput,
    @AcceptedFormat() acceptedFormat: FileFormat,
  ): Promise<FileResponse> {
    return this.service.query(account, input, acceptedFormat);
  }
}
