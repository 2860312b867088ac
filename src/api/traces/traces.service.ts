import { Injectable } from '@nestjs/common';
import { AppsService } from '../apps/apps.service.js';
import type { Account } from '../../platform/http/account.js';
import { clamp } from '../../shared/clamp.js';
import type { FileResponse } from '../../platform/http/file-response.js';
import type { FileFormat } from '../../shared/file-format.js';
import { logsRetainedFrom } from '../../config/retention.js';
import { Config } from '../../config/config.js';
import { FileStreams } from '../../queries/files/file-streams.js';
import { readSample } from '../../queries/files/row-pages.js';
import { ReadAudit } from '../../access/read-audit.js';
import { OperationLimiter } from '../../access/rate-limit/operation-limiter.js';
import { isCapturedName, forbidCapturedFields } from '../request-logs/captured-fields.js';
import { REQUIRED_SPAN_FIELDS, type QueryTracesInput } from './traces.input.js';
import { TracesRepository } from './traces.repository.js';
import type { TracesQuery } from './traces.statement.js';

const NANOSECONDS = 1_000_000n;
/** Later than any accepted span; later nanoseconds exceed 64 bits. */
const END_MS = Date.UTC(2100, 0, 1);
/** Limit of the time of all queries of a request, in milliseconds (docs/contract.md#traces). */
const MAX_QUERY_MS = 30_000;

/** Fields with headers and bodies of requests. */
const CAPTURING_FIELDS = ['attributes', 'events'] as const;

@Injectable()
export class TracesService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: TracesRepository,
    private readonly streams: FileStreams,
    private readonly limiter: OperationLimiter,
    private readonly config: Config,
    private readonly audit: ReadAudit,
  ) {}

  /** The spans of an app as one file, read and sent page by page. */
  async query(account: Account, input: QueryTracesInput, acceptedFormat: FileFormat): Promise<FileResponse> {
    await this.limiter.count('traces', account.keyIdentifier, this.config.tracesLimits);
    const scope = await this.apps.require(account, input.app_id);
    const { window, fields, filters, sample, limit, after } = input;
    const { hasBodies } = account.scopes;
    const filtered = filters
      .filter(({ key = '', event_name = '' }) => isCapturedName(key) || isCapturedName(event_name))
      .map(({ field }) => field);
    if (filtered.length > 0 && !hasBodies) forbidCapturedFields();
    const captured = CAPTURING_FIELDS.filter((field) => fields.includes(field) || filtered.includes(field));
    if (captured.length > 0 && hasBodies)
      this.audit.write('queryTraces', account, {
        app_id: scope.appId,
        ...(window.start > -Infinity && { since: new Date(window.start).toISOString() }),
        ...(window.end < Infinity && { until: new Date(window.end).toISOString() }),
        fields: captured.join(),
      });
    const retainedFrom = logsRetainedFrom(Date.now());
    const toNanoseconds = (ms: number) => BigInt(ms) * NANOSECONDS;
    const query: TracesQuery = {
      format: input.format ?? acceptedFormat,
      fields: [...new Set([...REQUIRED_SPAN_FIELDS, ...fields])],
      filters,
      window: {
        from: toNanoseconds(clamp(window.start, retainedFrom, END_MS)),
        to: toNanoseconds(clamp(window.end, retainedFrom, END_MS)),
      },
      consumerId: scope.consumerId,
      hasBodies,
    };
    const createSource = (hashBelow?: bigint) => this.repository.createSource(scope, { ...query, hashBelow });
    return this.streams.respond(account, query.format, input.body, ({ joiner, maxRows }) =>
      readSample(createSource, sample, joiner, { limit, after, maxRows, maxQueryMs: MAX_QUERY_MS }),
    );
  }
}
