import type { WriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { InvalidArgumentError } from 'commander';
import { AdminError } from '../../ops/admin/admin.error.js';
import { createAdmin } from '../../ops/admin/admin.js';
import { AppScopedStore } from '../../api/apps/app-scoped-store.js';
import { AppsRepository } from '../../api/apps/apps.repository.js';
import { type AppScope, AppsService } from '../../api/apps/apps.service.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { ALL_SCOPES } from '../../platform/http/account.js';
import { readFilter } from '../../queries/filters/filter.js';
import { type ExportFormat, isTyped } from '../../shared/file-format.js';
import { createJoiner } from '../../queries/files/file-joiner.js';
import { logsRetainedFrom } from '../../config/retention.js';
import { Config } from '../../config/config.js';
import { readPages } from '../../queries/files/row-pages.js';
import { type BrokenFile, findBreak } from '../../api/request-logs/export/broken-file.js';
import type { ExportQuery } from '../../api/request-logs/export/export-query.js';
import {
  REQUIRED_FIELDS,
  EXPORT_FIELDS,
  EXPORT_FILTERS,
  type ExportField,
  type ExportFilter,
} from '../../api/request-logs/export/export.input.js';
import { ExportRepository } from '../../api/request-logs/export/export.repository.js';
import type { RequestLogKey } from '../../api/request-logs/request-log-key.js';
import { listInvalidParts } from '../../platform/input/json-list.js';
import type { AuditTarget } from './audit.js';
import { type AskedExport, type BegunExport, forgetBegun, noteBegun, requireBegun } from './begun-export.js';
import { printMessage, printResult } from './output.js';
import { Progress } from './progress.js';
import { StopSignal } from './stop-signal.js';

export interface ExportOptions {
  app: number;
  format: ExportFormat;
  /** Milliseconds since the epoch. */
  since?: number;
  until?: number;
  filter: ExportFilter[];
  fields?: ExportField[];
  output?: string;
  resume?: string;
}

/** Writes the request logs of an app according to the options. */
export async function exportRequestLogs(store: ClickHouse, options: ExportOptions): Promise<AuditTarget> {
  const { app, format, since, until, filter: filters, fields, output, resume } = options;
  const now = Date.now();
  if (since !== undefined && since >= (until ?? now))
    throw new AdminError('--since must be before --until, or before now');
  const file = resume ?? output;
  if (file === undefined && process.stdout.isTTY && isTyped(format))
    throw new AdminError(`${format} is binary: name a file with --output`);
  const wanted: ExportQuery['fields'] = fields ?? (format === 'ndjson' ? 'whole' : EXPORT_FIELDS);
  const asked = { app, format, fields: wanted, filters, since: since ?? null, until: until ?? null };
  const broken = resume === undefined ? undefined : await findBroken(resume, asked);
  // A continued file ends where it would have ended.
  const end = broken?.end ?? until ?? now;
  const window = { start: Math.max(since ?? 0, logsRetainedFrom(now)), end };
  const { team_id } = await createAdmin(store).apps.require(app);
  const account = {
    teamId: team_id,
    teamName: '',
    plan: 'premium',
    keyIdentifier: '',
    scopes: ALL_SCOPES,
  } as const;
  const scope = await new AppsService(new AppsRepository(store), new Config()).require(account, app);
  const query: ExportQuery = { format, fields: wanted, filters, window, scope };
  const repository = new ExportRepository(new AppScopedStore(store));
  if (broken?.last) await requireRow(broken.last, repository, scope, query);
  // Everything is checked; the file changes only from here on.
  const target = file === undefined ? undefined : await openTarget(file, broken, { ...asked, end });
  const joiner = createJoiner(format, broken?.last !== undefined);
  const progress = new Progress(window.end - window.start, 'written');
  const onPage = ({ timestamp }: RequestLogKey) => {
    progress.update(timestamp - window.start, joiner.rows);
  };
  const bytes = readPages(repository.createSource(scope, query), joiner, { after: broken?.last, onPage });
  const stop = new StopSignal();
  try {
    await pipeline(
      Readable.from(bytes, { objectMode: false, highWaterMark: 1 }),
      target?.stream ?? process.stdout,
      { end: file !== undefined, signal: stop.signal },
    );
  } catch (error) {
    const hasRows = broken !== undefined || (target !== undefined && target.stream.bytesWritten > 0);
    const canContinue = hasRows && target?.isNoted === true;
    const how = canContinue ? `; --resume ${file} continues it` : '';
    if (stop.signal.aborted) throw stop.createError(`after ${joiner.rows} rows${how}`);
    if (canContinue) printMessage(`the export broke off${how}`);
    throw error;
  } finally {
    stop.close();
    progress.stop();
  }
  if (file !== undefined) {
    await forgetBegun(file);
    printResult({ rows: joiner.rows, file });
  }
  return { rows: joiner.rows };
}

/**
 * The intact part of a file, and the end of its window. @throws AdminError if the file does not belong to
 * this export
 */
async function findBroken(path: string, asked: AskedExport): Promise<BrokenFile & { end: number }> {
  const { format } = asked;
  if (isTyped(format))
    throw new AdminError(`A broken file of ${format} cannot be continued: export it again`);
  const { end } = await requireBegun(path, asked);
  const file = await open(path);
  const broken = await findBreak(file, format).finally(() => file.close());
  // Otherwise another file, or another format, would be overwritten.
  if (!broken) throw new AdminError(`${path} is no export as ${format}: it cannot be continued`);
  return { ...broken, end };
}

/**
 * @throws AdminError if the export does not contain the request: the file belongs to another export, or the
 * request is not retained any more
 */
async function requireRow(
  { timestamp, request_uuid }: RequestLogKey,
  repository: ExportRepository,
  scope: AppScope,
  query: ExportQuery,
): Promise<void> {
  const row = repository.createSource(scope, {
    ...query,
    window: { start: timestamp, end: timestamp + 1 },
    filters: [...query.filters, { field: 'request_uuid', op: 'eq', value: request_uuid }],
  });
  if ((await row.count({ after: undefined, last: undefined })) === 0)
    throw new AdminError(
      `The last request in the file, ${request_uuid}, is none of this export, or is not kept any more: export it again`,
    );
}

/** Opens the file at the position to write from, and records the export's request next to it. */
async function openTarget(
  path: string,
  broken: BrokenFile | undefined,
  begun: BegunExport,
): Promise<{ stream: WriteStream; isNoted: boolean }> {
  if (!broken) await forgetBegun(path);
  const file = await open(path, broken ? 'r+' : 'w', 0o600);
  const isNoted = !isTyped(begun.format) && (await file.stat()).isFile();
  if (broken) await file.truncate(broken.wholeBytes);
  else if (isNoted) await noteBegun(path, begun);
  return { stream: file.createWriteStream(broken && { start: broken.wholeBytes }), isNoted };
}

const FILTER = /^\s*(\w+)(?:\[([^\]]+)\])?\s+(\w+)(?:\s([^]*))?$/;

/** @throws InvalidArgumentError */
export function parseFilter(text: string): ExportFilter {
  const [, field = '', key, op = '', value] = FILTER.exec(text) ?? [];
  const isNumber =
    field !== 'timestamp' &&
    Object.entries(EXPORT_FILTERS).some(([name, { type }]) => name === field && type === 'Int64');
  const toValue = (item: string) => (isNumber && /^-?\d+$/.test(item) ? Number(item) : item);
  const isList = op === 'in' || op === 'not_in';
  const filter = {
    field,
    op,
    ...(key !== undefined && { key }),
    ...(value !== undefined && { value: isList ? value.split(',').map(toValue) : toValue(value) }),
  };
  const read = readFilter(EXPORT_FILTERS, filter);
  const [invalid] = listInvalidParts(read, [], filter);
  if (invalid) throw new InvalidArgumentError(`${invalid.path.join('.')}: ${invalid.violation.msg}.`);
  return read as ExportFilter;
}

/** @throws InvalidArgumentError */
export function parseFields(text: string): ExportField[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !(EXPORT_FIELDS as readonly string[]).includes(name));
  if (unknown !== undefined) throw new InvalidArgumentError(`There is no field ${unknown}.`);
  return EXPORT_FIELDS.filter((field) => REQUIRED_FIELDS.includes(field) || names.includes(field));
}
