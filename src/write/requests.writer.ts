import type { ClickHouse } from '../store/client/clickhouse.client.js';
import { REMOVE_OLD_PARTS } from '../store/old-parts.js';
import { Slices } from '../shared/async/slices.js';
import { hashUuid } from '../shared/hash-uuid.js';
import { DEFAULT_LIMITS } from '../config/name-limits.js';
import { BatchLog, type Recovery, type UnfinishedBatch } from './batch-log.js';
import { KnownRequests, requestKey } from './known-requests.js';
import type { Hold } from '../coordination/lease.js';
import { NameRegistry, type WithIds } from '../records/names/name-registry.js';
import { Redactor } from '../records/redaction/redactor.js';
import { RequestClaims } from './request-claims.js';
import type { CountRecord, RequestRecord } from '../records/request-record.js';
import { LocalCoordinator, type WriterCoordinator } from '../coordination/writer-coordinator.js';
import {
  CHARACTERS_IN_IMPORTED_PIECE,
  encodePieces,
  toCountRow,
  toRequestRow,
  weighCount,
  weighError,
  weighRequest,
} from './row-encoder.js';
import { findDeprecationRows } from './deprecation-rows.js';
import { findExceptionRow } from './error-row.js';
import { type SpanRecord, readSpanRecords, weighSpan } from '../records/span-record.js';

/** Longer than the claims of a dead process. */
const WAIT_FOR_CLAIMS_MS = 75_000;

/** Called once the rows of a batch are encoded, with its commit. */
type RunCommit = (commit: () => Promise<void>) => Promise<void>;

const TABLES_WITH_OLD_PARTS = `
SELECT DISTINCT table FROM system.parts WHERE database = currentDatabase() AND NOT active`;

/** Writes complete requests into the landing table, each once, even if it is passed repeatedly. */
export class RequestsWriter {
  private readonly knownRequests: KnownRequests;

  /** @param log its owner marks applied batches from time to time */
  constructor(
    private readonly store: ClickHouse,
    private readonly names: NameRegistry,
    private readonly claims: RequestClaims,
    private readonly redactor = Redactor.standard,
    private readonly log = new BatchLog(store),
  ) {
    this.knownRequests = new KnownRequests(store);
  }

  /**
   * The single writer of its process.
   *
   * @param coordinator shared with the other writers of the store; left out if there are none
   * @param limits on names for apps without their own limits
   * @param redactor by default, it masks credentials
   */
  static create(
    store: ClickHouse,
    coordinator: WriterCoordinator = new LocalCoordinator(),
    limits = DEFAULT_LIMITS,
    redactor = Redactor.standard,
  ): RequestsWriter {
    const names = NameRegistry.create(store, coordinator, limits);
    return new RequestsWriter(
      store,
      names,
      new RequestClaims(coordinator),
      redactor,
      new BatchLog(store, coordinator),
    );
  }

  /**
   * Writes the requests that are not in the store and resolves to them, with their IDs, once they are
   * acknowledged. They are appended to the batch log before they are inserted, so that after a crash no
   * request is lost or duplicated, even if they are passed again in other batches.
   *
   * @param inTurn runs the commit, which appends and inserts the rows, possibly after the rows of other
   * batches
   */
  async write(
    appId: number,
    records: readonly RequestRecord[],
    inTurn: RunCommit = (commit) => commit(),
  ): Promise<WithIds<RequestRecord>[]> {
    const requests = records.map((record) => ({ app_id: appId, request_uuid: record.request_uuid, record }));
    const keys = requests.map(requestKey);
    return this.claims.run(keys, WAIT_FOR_CLAIMS_MS, async (hold) => {
      const unfinished = await this.log.finish(keys);
      const unknown: RequestRecord[] = [];
      const work = new Slices();
      for (const { record } of await this.knownRequests.filterUnknown(requests)) {
        unknown.push(record.redactedSpans ? record : await work.run(this.redactor.redactRequest(record)));
        if (work.isOver) await work.giveWay();
      }
      return unknown.length > 0 ? this.writeUnknown(appId, unknown, unfinished, inTurn, hold) : [];
    });
  }

  /**
   * Adds counts to the traffic, but not to the logs; resolves once they are acknowledged.
   *
   * @param token deduplication token, lower-case hex: a repeated call with it changes nothing
   */
  async writeCounts(appId: number, counts: readonly CountRecord[], token: string): Promise<void> {
    const resolved = await this.names.resolve(appId, counts);
    const steps = encodePieces(
      'request_counts',
      resolved,
      ({ record, ids }) => toCountRow(appId, record, ids),
      ({ record }) => weighCount(record),
    );
    for (const [index, { table, rows }] of (await new Slices().run(steps)).entries())
      await this.store.insert(table, [rows], index === 0 ? token : `${token}${index}`);
  }

  /** Applies batches of dead processes that are at least this many seconds old. */
  recover(olderThanSeconds: number): Promise<Recovery> {
    return this.log.recover(olderThanSeconds);
  }

  /** Call after the last write. */
  async close(): Promise<void> {
    await this.log.markApplied();
  }

  /**
   * Removes from the disk what merges replaced, and the rows of applied batches. The embedded engine does so
   * while it has nothing else to do, and a command ends before that. Only for the single process of a
   * directory: merges that run meanwhile are cancelled.
   */
  async removeReplaced(): Promise<void> {
    await this.store.command('OPTIMIZE TABLE ingest_batches_v1 FINAL');
    for (const { table } of await this.store.rows<{ table: string }>('parts.replaced', TABLES_WITH_OLD_PARTS))
      await this.store.command(`ALTER TABLE ${table} ${REMOVE_OLD_PARTS}`);
  }

  private async writeUnknown(
    appId: number,
    records: readonly RequestRecord[],
    unfinished: ReadonlyMap<string, UnfinishedBatch>,
    inTurn: RunCommit,
    hold: Hold,
  ): Promise<WithIds<RequestRecord>[]> {
    const resolved = await this.names.resolve(
      appId,
      records.map((record) => (isProbe(record) ? { ...record, registersPath: false } : record)),
    );
    const work = new Slices();
    const pieces = await work.run(
      encodePieces(
        'requests',
        resolved,
        ({ record, ids }) => toRequestRow(appId, record, ids),
        ({ record }) => weighRequest(record),
        CHARACTERS_IN_IMPORTED_PIECE,
      ),
    );
    const spans = await listSpans(appId, resolved, work);
    pieces.push(...(await work.run(encodePieces('logged_spans', spans, (row) => row, weighSpan))));
    const logged = resolved.filter(({ record }) => !record.excluded_from_logs);
    const errors = resolved.flatMap(({ record, ids }, index) => {
      const sentPath = records[index]?.path;
      return record.excluded_from_logs ? [] : (findExceptionRow(appId, record, ids, { sentPath }) ?? []);
    });
    pieces.push(...(await work.run(encodePieces('reported_errors', errors, (row) => row, weighError))));
    const deprecations = findDeprecationRows(appId, logged);
    pieces.push(...(await work.run(encodePieces('endpoint_deprecations_v1', deprecations, (row) => row))));
    const batch = {
      // Derived from its requests, so that two processes without Redis write the same batches if they import
      // the same file.
      id: hashUuid([appId, ...records.map(({ request_uuid }) => request_uuid)].join()),
      createdAt: Math.floor(Date.now() / 1000),
      messages: [],
      pieces,
      requests: records.map(({ request_uuid }) => requestKey({ app_id: appId, request_uuid })),
    };
    // The same batch may be written again.
    for (const { id, reason } of unfinished.values()) if (id !== batch.id) throw reason;
    await inTurn(() => this.log.write(batch, hold));
    return resolved;
  }
}

/** The rows of the captured spans of requests. */
async function listSpans(app_id: number, requests: readonly WithIds<RequestRecord>[], work: Slices) {
  const now = Date.now();
  const rows: (SpanRecord & { app_id: number; app_env_id: number })[] = [];
  await work.forEach(requests, ({ record, ids }) => {
    for (const span of record.redactedSpans ?? readSpanRecords(record, now))
      rows.push({ app_id, app_env_id: ids.app_env_id, ...span });
  });
  return rows;
}

/**
 * Whether the route may not exist: the path was inferred from a URL, and the application responded with 404
 * or 405.
 */
function isProbe({ is_path_inferred, status_code }: RequestRecord): boolean {
  return is_path_inferred && (status_code === 404 || status_code === 405);
}
