import { BackgroundTasks } from '../../../shared/async/background-tasks.js';
import { Slices } from '../../../shared/async/slices.js';
import { withResolvers } from '../../../shared/async/with-resolvers.js';
import { logsRetainedFrom } from '../../../config/retention.js';
import type { LineResult, ParseOptions } from '../formats/parsed-request.js';
import { type FormatChoice, LineParser } from '../formats/request-format.js';
import { type Retention, checkRetention, getTrafficRetention } from '../../../records/decoding/timestamps.js';
import type { RequestRecord } from '../../../records/request-record.js';
import type { RequestsWriter } from '../../../write/requests.writer.js';
import { weighSpanRecords } from '../../../records/span-record.js';
import { weighRequest } from '../../../write/row-encoder.js';
import { ImportProfile } from './import-profile.js';
import { LineIdentities } from './line-identity.js';
import type { LongLine, ParsedLine } from './long-line.js';
import type { SourceLine } from '../../decoding/line-splitter.js';
import { RejectedLineGroups } from './rejected-lines.js';

export interface ImportOptions extends ParseOptions {
  appId: number;
  /** Environment of requests without one. */
  env: string;
  /** Name of the source, a part of the identity of requests without a UUID; empty if it has none. */
  source: string;
  /** By default, the format of the first valid line. */
  format?: FormatChoice | string | undefined;
  /** By default, `SERVICE_BATCH`. */
  batch?: BatchSize;
  now: number;
  /** The larger work that the import belongs to; by default the import is its own work. */
  work?: Slices;
  /** Called for each rejected line, in the order of the source. */
  onRejected?: ((line: SourceLine) => void) | undefined;
  /** Parses long lines elsewhere; by default they are parsed here. */
  parseLong?: ParseLong | undefined;
}

type ParseLong = (bytes: Buffer, line: LongLine) => Promise<ParsedLine>;

/** A longer line is long, together with the parts before it if a container runtime split it. */
export const LONG_LINE_BYTES = 256 * 1024;

/** Counts of a file: `read` is `imported` + `duplicates` + `rejected`. */
export interface FileSummary {
  /** Number of lines without blank lines and lines that name the fields of others. */
  read: number;
  imported: number;
  /** Requests that were already in the store. */
  duplicates: number;
  rejected: number;
  /** Number of imported requests that are also in the request logs. */
  logged: number;
}

/** Counts of an import. */
export interface ImportSummary extends FileSummary {
  /**
   * Number of invalid optional members by name, which were left out of their requests, including duplicates.
   * Absent if there were none.
   */
  ignored_members?: Record<string, number>;
  /**
   * By kind of name, requests counted under `*` because the app is at its limit. Absent if there are none.
   */
  over_limits?: Record<string, number>;
}

/** A batch is written when it reaches either limit. */
export interface BatchSize {
  rows: number;
  /** Approximate characters of its rows; a single row may have more. */
  characters: number;
}
/** For an import inside the service, next to its other work. */
const SERVICE_BATCH: BatchSize = { rows: 6_500, characters: 5 * 1024 * 1024 };
/**
 * For an import in its own process. Each insert has a fixed cost per table, that of hundreds of rows, and its
 * parts are merged: 150,000 lines took 0.78 of the processor time with 24,000 rows a batch instead of 8,000,
 * and 80 MB more memory.
 */
export const IMPORT_BATCH: BatchSize = { rows: 24_000, characters: 24 * 1024 * 1024 };
/** Characters of a batch with long rows: with lines of 90 KB, an import peaks at 580 MB. */
const LONG_ROWS_CHARACTERS = 3 * 1024 * 1024;
/** A batch with fewer rows than this has long rows. */
const FEW_ROWS = 1_000;

/**
 * The line of W3C extended that names the fields. Without it, rejected lines could not be imported after a
 * correction.
 */
const FIELDS_LINE = /^#fields:/i;
const EMPTY_SUMMARY: FileSummary = { read: 0, imported: 0, duplicates: 0, rejected: 0, logged: 0 };

/**
 * Imports the lines of one or several sources. Invalid lines are skipped and reported; the import continues.
 *
 * Identities depend only on the lines, not on time or chunks. So a second import of the same lines, complete
 * or after a crash, finds the requests in the store.
 */
export class Importer {
  readonly summary: ImportSummary = { ...EMPTY_SUMMARY };
  readonly rejectedLines = new RejectedLineGroups();
  readonly profile = new ImportProfile();
  private parser!: LineParser;
  private identities!: LineIdentities;
  private file!: FileSummary;
  /** Name of the file, if there are several. */
  private label: string | undefined;
  /** The line that names the fields of the following lines, until one of those is rejected. */
  private fieldsLine: SourceLine | undefined;
  private readonly logsFrom: number;
  private readonly retention: Retention;
  private readonly work: Slices;
  private batch: RequestRecord[] = [];
  /** The file of each record of the batch. */
  private batchFiles: FileSummary[] = [];
  private batchCharacters = 0;
  /**
   * Up to three batches at once: one is committed, the next is looked up and encoded, and a third is read.
   */
  private readonly writing = new BackgroundTasks(2);
  /** Resolves when the last batch is encoded: names get their IDs in the order of the lines. */
  private encoded: Promise<void> = Promise.resolve();
  /**
   * Settles when the last batch is committed. Only one batch is committed at a time, because two took 50 to
   * 120 MB more.
   */
  private committed: Promise<void> = Promise.resolve();

  constructor(
    private readonly writer: RequestsWriter,
    private readonly options: ImportOptions,
  ) {
    this.startFile();
    this.work = options.work ?? new Slices();
    this.logsFrom = logsRetainedFrom(options.now);
    this.retention = getTrafficRetention(options.now);
  }

  /** The format of the file; undefined as long as no line was valid. */
  get format(): string | undefined {
    return this.parser.format;
  }

  /**
   * Begins another file; its counts are returned and complete after `end`. Files share batches, so that many
   * small files are as fast as one. Equal lines are counted for each file separately, as if each file were
   * imported alone.
   */
  startFile(label?: string): FileSummary {
    this.label = label;
    this.parser = new LineParser(this.options.format, this.options);
    this.identities = new LineIdentities(this.options.source);
    this.fieldsLine = undefined;
    this.file = { ...EMPTY_SUMMARY };
    return this.file;
  }

  /**
   * Adds lines; a full batch is written while the next lines are read. Gives way to the event loop every few
   * milliseconds.
   */
  async add(lines: Iterable<SourceLine>): Promise<void> {
    const { parseLong } = this.options;
    for (const line of lines) {
      if (this.work.isOver) await this.work.giveWay();
      const { bytes } = line;
      const isLong = bytes && parseLong && bytes.length + this.parser.state.pending.length > LONG_LINE_BYTES;
      const outcome = isLong ? await this.parseAlone(bytes, line.number, parseLong) : this.parseLine(line);
      if (outcome === null) {
        if (FIELDS_LINE.test(line.text ?? '')) this.fieldsLine = line;
        continue;
      }
      this.increase(this.file, 'read');
      if ('reason' in outcome) this.reject(line, outcome.reason);
      else await this.push(outcome);
    }
  }

  /** Writes the last batch; resolves once everything is acknowledged. */
  async end(): Promise<ImportSummary> {
    await this.flush();
    await this.writing.end();
    return this.summary;
  }

  private parseLine({ text }: SourceLine): RequestRecord | { reason: string } | null {
    if (text === null) return { reason: 'line: too long' };
    return this.complete(this.parser.parse(text), text);
  }

  private async parseAlone(bytes: Buffer, number: number, parse: ParseLong) {
    const { format, env, source, shiftMs, baseUrl, consumerFrom, trustForwarded } = this.options;
    const options = { shiftMs, baseUrl, consumerFrom, trustForwarded };
    const line = { number, format, options, env, source, state: this.parser.state };
    const { result, digest, state } = await parse(bytes, line);
    this.parser = new LineParser(format, this.options, state);
    return this.complete(result, '', digest);
  }

  private complete(
    parsed: LineResult | null,
    text: string,
    digest?: string,
  ): RequestRecord | { reason: string } | null {
    if (parsed === null || 'reason' in parsed) return parsed;
    const { record, ignored } = parsed;
    const reason = checkRetention(record.timestamp, this.retention, this.options.now);
    if (reason !== undefined) return { reason };
    for (const name of ignored) this.count('ignored_members', name);
    this.profile.add(record);
    const env = record.env ?? this.options.env;
    const request_uuid = record.request_uuid ?? this.identities.next(env, text, record.timestamp, digest);
    return { ...record, env, request_uuid };
  }

  private increase(file: FileSummary, counter: keyof FileSummary, by = 1) {
    file[counter] += by;
    this.summary[counter] += by;
  }

  private count(counter: 'ignored_members' | 'over_limits', name: string) {
    const counts = (this.summary[counter] ??= {});
    counts[name] = (counts[name] ?? 0) + 1;
  }

  private reject(line: SourceLine, reason: string) {
    this.increase(this.file, 'rejected');
    this.rejectedLines.add(line.number, reason, this.label);
    if (this.fieldsLine) this.options.onRejected?.(this.fieldsLine);
    this.fieldsLine = undefined;
    this.options.onRejected?.(line);
  }

  private async push(record: RequestRecord) {
    this.batch.push(record);
    this.batchFiles.push(this.file);
    this.batchCharacters += weighRequest(record) + weighSpanRecords(record);
    const { length } = this.batch;
    const { rows, characters } = this.options.batch ?? SERVICE_BATCH;
    const maxCharacters = length < FEW_ROWS ? LONG_ROWS_CHARACTERS : characters;
    if (length === rows || this.batchCharacters >= maxCharacters) await this.work.wait(this.flush());
  }

  private async flush() {
    const records = this.batch;
    const files = this.batchFiles;
    this.batch = [];
    this.batchFiles = [];
    this.batchCharacters = 0;
    await this.writing.start(() => this.write(records, files));
  }

  private async write(records: readonly RequestRecord[], files: readonly FileSummary[]) {
    const written = await this.writeInTurn(records);
    // If requests in a batch are equal, the first is written.
    const fileOf = new Map<string, FileSummary>();
    for (const [index, { request_uuid }] of records.entries()) {
      const file = files[index] ?? this.file;
      if (!fileOf.has(request_uuid)) fileOf.set(request_uuid, file);
      this.increase(file, 'duplicates');
    }
    for (const { record, overflow = [] } of written) {
      const file = fileOf.get(record.request_uuid) ?? this.file;
      this.increase(file, 'duplicates', -1);
      this.increase(file, 'imported');
      if (!record.excluded_from_logs && record.timestamp > this.logsFrom) this.increase(file, 'logged');
      else this.profile.addNotLogged(record);
      for (const kind of overflow) this.count('over_limits', kind);
    }
  }

  private async writeInTurn(records: readonly RequestRecord[]) {
    const { encoded } = this;
    const { promise, resolve } = withResolvers();
    this.encoded = promise;
    await encoded;
    try {
      return await this.writer.write(this.options.appId, records, (commit) => {
        resolve();
        // After a failure no further batch is committed: with a store that does not respond, each would take
        // another minute.
        this.committed = this.committed.then(commit);
        return this.committed;
      });
    } finally {
      resolve();
    }
  }
}

/** The latest time in a source; undefined if no line is valid. */
export async function latestTimestamp(
  batches: AsyncIterable<readonly SourceLine[]>,
  format?: FormatChoice | string,
): Promise<number | undefined> {
  const parser = new LineParser(format);
  let latest: number | undefined;
  for await (const lines of batches)
    for (const { text } of lines) {
      const parsed = text === null ? undefined : parser.parse(text);
      if (parsed && 'record' in parsed) latest = Math.max(latest ?? -Infinity, parsed.record.timestamp);
    }
  return latest;
}
