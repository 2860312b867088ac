import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../../access/keys/account.decorator.js';
import type { Account } from '../../../platform/http/account.js';
import { AcceptedFormat, type FileResponse } from '../../../platform/http/file-response.js';
import { EXPORT_FORMATS, type FileFormat } from '../../../shared/file-format.js';
import { QueryOperation } from '../../../access/operations/operation.decorators.js';
import { Input } from '../../../platform/input/input.decorator.js';
import { ExportedRequestLog } from './export.dto.js';
import { ExportRequestLogsInput } from './export.input.js';
import { ExportService } from './export.service.js';

@Controller('v1/apps/:app_id/request-logs')
export class ExportController {
  constructor(private readonly service: ExportService) {}

  @QueryOperation({
    id: 'exportRequestLogs',
    tag: 'Request logs',
    summary: 'Export Request Logs',
    description:
      'Returns all request logs of a window that match the filters as one file, oldest first, ties by `request_uuid`. ' +
      'Excluded endpoints, static assets and health checks are left out. The file is sent as it is read and has no limit ' +
      'but `limit`. One that cannot be completed ends with a broken connection, never with a last chunk; `after` continues ' +
      'it. A client that sends `TE: trailers` gets the trailers `X-Row-Count` and `X-Complete: true` after a complete one. ' +
      'A key may read two files at once, exports and traces together. As `har` it is an HTTP Archive for tools that replay or ' +
      'compare traffic; a key without headers and bodies gets one without them.',
    // Newer public clients use the second.
    path: ['', 'stream'],
    input: ExportRequestLogsInput,
    row: ExportedRequestLog,
    formats: EXPORT_FORMATS,
    bodies: {
      oldest: {
        summary: 'The oldest ten requests that are kept, as CSV',
        value: { since: '2020-01-01', limit: 10, format: 'csv' },
      },
      errors: {
        summary: 'Errors with their exceptions',
        value: {
          since: '2020-01-01',
          fields: ['path', 'status_code', 'response_time_ms', 'exception_type', 'exception_message'],
          filters: [{ field: 'status_code', op: 'gte', value: 400 }],
          limit: 100,
          format: 'csv',
        },
      },
    },
  })
  export(
    @CurrentAccount() account: Account,
    @Input() input: ExportRequestLogsInput,
    @AcceptedFormat() acceptedFormat: FileFormat,
  ): Promise<FileResponse> {
    return this.service.export(account, input, acceptedFormat);
  }
}
