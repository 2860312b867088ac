import { Injectable } from '@nestjs/common';
import { AppsService } from '../../apps/apps.service.js';
import type { Account } from '../../../platform/http/account.js';
import type { FileResponse } from '../../../platform/http/file-response.js';
import type { FileFormat } from '../../../shared/file-format.js';
import { logsRetainedFrom } from '../../../config/retention.js';
import { FileStreams } from '../../../queries/files/file-streams.js';
import { readSample } from '../../../queries/files/row-pages.js';
import { ReadAudit } from '../../../access/read-audit.js';
import { CAPTURED_FIELDS, findCapturedFields, forbidCapturedFields } from '../captured-fields.js';
import type { ExportQuery } from './export-query.js';
import {
  DEFAULT_FIELDS,
  REQUIRED_FIELDS,
  EXPORT_FIELDS,
  type ExportRequestLogsInput,
} from './export.input.js';
import { ExportRepository } from './export.repository.js';

@Injectable()
export class ExportService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: ExportRepository,
    private readonly streams: FileStreams,
    private readonly audit: ReadAudit,
  ) {}

  /** The request logs of an app as one file, read and sent page by page. */
  async export(
    account: Account,
    input: ExportRequestLogsInput,
    acceptedFormat: FileFormat,
  ): Promise<FileResponse> {
    const scope = await this.apps.require(account, input.app_id);
    const { window, filters, sample, limit, after, format = acceptedFormat } = input;
    const shown = account.scopes.hasBodies ? CAPTURED_FIELDS : [];
    const { fields = format === 'har' ? shown : DEFAULT_FIELDS } = input;
    const captured = findCapturedFields([...fields, ...filters.map(({ field }) => field)]);
    if (captured.length > 0) {
      if (!account.scopes.hasBodies) forbidCapturedFields();
      this.audit.write('exportRequestLogs', account, {
        app_id: scope.appId,
        since: new Date(window.start).toISOString(),
        until: new Date(window.end).toISOString(),
        fields: captured.join(),
      });
    }
    const query: ExportQuery = {
      format,
      fields: EXPORT_FIELDS.filter((field) => REQUIRED_FIELDS.includes(field) || fields.includes(field)),
      filters,
      window: { start: Math.max(window.start, logsRetainedFrom(window.now)), end: window.end },
      scope,
    };
    const createSource = (hashBelow?: bigint) => this.repository.createSource(scope, { ...query, hashBelow });
    return this.streams.respond(account, format, input.body, ({ joiner, maxRows }) =>
      readSample(createSource, sample, joiner, { limit, after, maxRows }),
    );
  }
}
