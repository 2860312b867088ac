import { Controller } from '@nestjs/common';
import { CurrentAccount } from '../../access/keys/account.decorator.js';
import type { Account } from '../../platform/http/account.js';
import { AcceptedFormat, type FileResponse } from '../../platform/http/file-response.js';
import type { FileFormat } from '../../shared/file-format.js';
import { QueryOperation } from '../../access/operations/operation.decorators.js';
import { Input } from '../../platform/input/input.decorator.js';
import { TraceSpanRow } from './traces.dto.js';
import { QueryTracesInput } from './traces.input.js';
import { TracesService } from './traces.service.js';

@Controller('v1/apps/:app_id/traces')
export class TracesController {
  constructor(private readonly service: TracesService) {}

  @QueryOperation({
    id: 'queryTraces',
    tag: 'Traces',
    summary: 'Query Traces',
    description:
      'Returns the spans of a window that match the filters, as one file with a row for each span, oldest first, ties by ' +
      '`trace_id` and `span_id`. It includes spans of excluded endpoints, and spans without a request log. The file is ' +
      'sent as it is read; only `limit` limits its size. If it cannot be completed, the connection is closed without a last ' +
      'chunk; `after` continues it. Clients that send `TE: trailers` get the trailers `X-Row-Count` and `X-Complete: true` ' +
      'after a complete file. A key may query traces once a second and ten times a minute, and read two files at once.',
    input: QueryTracesInput,
    row: TraceSpanRow,
    bodies: {
      oldest: {
        summary: 'The oldest ten spans that are kept, as CSV',
        value: { since: '2020-01-01', limit: 10, format: 'csv' },
      },
      requests: {
        summary: 'Spans of requests, with their attributes',
        value: {
          since: '2020-01-01',
          fields: ['name', 'duration_ns', 'attributes'],
          filters: [{ field: 'kind', op: 'eq', value: 'SERVER' }],
          limit: 100,
          format: 'csv',
        },
      },
    },
  })
  query(
    @CurrentAccount() account: Account,
    @Input() input: QueryTracesInput,
    @AcceptedFormat() acceptedFormat: FileFormat,
  ): Promise<FileResponse> {
    return this.service.query(account, input, acceptedFormat);
  }
}
