import { hash } from 'node:crypto';
import type { ClickHouse } from '../store/client/clickhouse.client.js';
import { StoreUnavailable, isOutcomeUnknown } from '../store/client/clickhouse.errors.js';
import { chunkBySize, chunkForLookup } from '../shared/chunk.js';
import { LocalCoordinator, type WriterCoordinator } from '../coordination/writer-coordinator.js';
import { LandingViews } from './landing-views.js';
import type { Hold } from '../coordination/lease.js';
import { NIL_UUID } from '../shared/nil-uuid.js';
import { WriteGate } from './write-gate.js';

/** The tables that batches are inserted into: landing tables, and tables without views. */
export const INGEST_TABLES = [
  'requests',
  'request_counts',
  'logged_requests',
  'reported_errors',
  'instance_reports',
  'api_documents_v1',
  'endpoint_deprecations_v1',
  'logged_spans',
  'logged_messages',
  'percentile_accuracy_v1',
  'counted_instances_v1',
  'pending_counts_v1',
  'metric_streams_v1',
  'counted_records_v1',
  'unassigned_requests_v1',
  'consumer_coverage_v1',
] as const;
export type IngestTable = (typeof INGEST_TABLES)[number];

/** Rows of one table that are inserted as one block. */
export interface Piece {
  table: IngestTable;
  /** In the form of `ClickHouse.insert`, without line feeds. */
  rows: string;
}

/** Identity of a message of a client library: the app and its UUID. */
export interface MessageKey {
  app_id: number;
  message_uuid: string;
}

/** A message in the log. */
interface LoggedMessage extends MessageKey {
  /** The application process that sent it, if known. */
  instance_uuid?: string | null;
}

/** Rows that are written together: all or none. */
export interface Batch {
  id: string;
  /** In seconds since the Unix epoch. */
  createdAt: number;
  /** The messages of the rows; empty for an import. */
  messages: readonly LoggedMessage[];
  pieces: readonly Piece[];
  /** Identities of the requests in the rows; see `requestKey`. */
  requests?: readonly string[];
}

/** Messages by their state in the log; applied ones are in neither list. */
export interface SortedMessages<M> {
  unseen: M[];
  /** Messages whose batch the engine rejects, with the reason. */
  rejected: Map<M, unknown>;
}

/** A batch that could not be finished, and the reason. */
export interface UnfinishedBatch {
  id: string;
  reason: unknown;
}

/** Result of a recovery: rejected batches by ID. */
export interface Recovery {
  completed: number;
  rejected: ReadonlyMap<string, unknown>;
}

interface BatchOfMessage extends MessageKey {
  batch_id: string;
}

interface BatchState {
  batch_id: string;
  created: number;
  pieces: number;
  is_applied: number;
}

const BATCHES_OF_MESSAGES = `
SELECT app_id, message_uuid, batch_id FROM ingest_messages_v1
WHERE message_uuid IN {message_uuids:Array(UUID)}`;
const STATE = `
SELECT batch_id, toUnixTimestamp(any(created_at)) AS created, max(pieces) AS pieces, max(applied) AS is_applied
FROM ingest_batches_v1
WHERE piece = 0`;
const STATES = `${STATE} AND batch_id IN {batch_ids:Array(UUID)} GROUP BY batch_id`;
/** Without a header row the append did not finish, so no sender was told that its message is stored. */
const UNAPPLIED = `${STATE} AND created_at <= now() - {older_than_seconds:UInt32}
  AND (empty(message_uuids) OR batch_id GLOBAL IN (SELECT batch_id FROM ingest_messages_v1))
GROUP BY batch_id HAVING is_applied = 0 ORDER BY created`;
const PIECE = `
SELECT table_name, payload FROM ingest_batches_v1
WHERE batch_id = {batch_id:UUID} AND piece = {piece:UInt16} AND applied = 0
LIMIT 1`;

const COLUMNS =
  'batch_id, piece, created_at, pieces, app_ids, message_uuids, instance_uuids, table_name, payload, applied';
/**
 * An unapplied batch of this age belongs to a dead process. The age is well within the deduplication window
 * of 10,000 blocks: at ten batches a second in two partitions, 500 seconds for one collector.
 */
export const ABANDONED_AFTER_SECONDS = 20;
/** Longer than the store needs to finish an insert whose outcome is unknown. */
const IN_DOUBT_MS = 60_000;
/** Characters in one INSERT into the log, unless one piece has more. */
const STATEMENT_CHARACTERS = 8 * 1024 * 1024;

/**
 * The write-ahead log of batches. A batch is appended with its rows, then applied: its rows are inserted into
 * the landing tables, each piece under a token of its own. Then it is marked as applied, along with the next
 * batch that is appended.
 *
 *     append ──▶ apply ──▶ acknowledge ──▶ mark
 *        └─ a process that dies here leaves an unapplied batch: `recover` applies it again
 *
 * Each step is idempotent: a table ignores a block whose token it already has.
 */
export class BatchLog {
  /** Applied batches that are not marked yet. */
  private readonly unmarked = new Map<string, { createdAt: number; pieces: number }>();

  /**
   * The requests of each batch that is being written, or whose write failed after a possible append; by ID.
   */
  private readonly unfinished = new Map<string, { requests: readonly string[]; since: number }>();

  private readonly gate: WriteGate;
  private readonly views: LandingViews;

  /** @param coordinator of all writers of the store; left out if nothing else can write */
  constructor(
    private readonly store: ClickHouse,
    coordinator: WriterCoordinator = new LocalCoordinator(),
  ) {
    this.gate = new WriteGate(coordinator);
    this.views = new LandingViews(store);
  }

  /** Returns the messages that are not in the log. Applies unapplied batches of the other messages first. */
  async filterUnseen<M extends MessageKey>(messages: readonly M[]): Promise<SortedMessages<M>> {
    const batches: BatchOfMessage[] = [];
    for (const message_uuids of chunkForLookup(messages.map(({ message_uuid }) => message_uuid)))
      batches.push(
        ...(await this.store.rows<BatchOfMessage>('batches.of_messages', BATCHES_OF_MESSAGES, {
          message_uuids,
        })),
      );
    if (batches.length === 0) return { unseen: [...messages], rejected: new Map() };
    const batch_ids = [...new Set(batches.map(({ batch_id }) => batch_id))];
    const states = await this.store.rows<BatchState>('batches.states', STATES, { batch_ids });
    const rejected = await this.applyAgain(states);
    const appended = new Set(states.map(({ batch_id }) => batch_id));
    const batchByKey = new Map(batches.map((batch) => [messageKey(batch), batch.batch_id]));
    const sorted: SortedMessages<M> = { unseen: [], rejected: new Map() };
    for (const message of messages) {
      const batch = batchByKey.get(messageKey(message));
      if (batch === undefined || !appended.has(batch)) sorted.unseen.push(message);
      else if (rejected.has(batch)) sorted.rejected.set(message, rejected.get(batch));
    }
    return sorted;
  }

  /**
   * Applies batches of at least that age that were appended and not applied, by any process.
   *
   * @returns the number of applied batches, and the batches that the engine rejected, with the reasons
   */
  async recover(olderThanSeconds: number): Promise<Recovery> {
    const params = { older_than_seconds: olderThanSeconds };
    const states = await this.store.rows<BatchState>('batches.unapplied', UNAPPLIED, params);
    const rejected = await this.applyAgain(states);
    await this.markApplied();
    return { completed: states.length - rejected.size, rejected };
  }

  /**
   * Appends the batch and applies it.
   *
   * @param holdClaims confirms that the claims on its requests are still held; after the append any process
   * may apply the batch
   * @throws LeaseLost if the claims are lost, and nothing is written; StoreUnavailable if writes are paused
   * for too long; StoredDataDamaged if the log would not have the whole batch
   */
  write(batch: Batch, holdClaims: Hold = () => Promise.resolve()): Promise<void> {
    return this.gate.run(async (holdWrite) => {
      await this.views.requireAll();
      const { id, requests = [] } = batch;
      this.unfinished.set(id, { requests, since: performance.now() });
      try {
        await this.append(batch, async () => {
          await holdClaims();
          await holdWrite();
        });
      } catch (error) {
        if (!isOutcomeUnknown(error)) this.unfinished.delete(id);
        throw error;
      }
      await this.apply(batch, holdWrite);
      this.unfinished.delete(id);
    });
  }

  /**
   * Completes this process's unfinished batches that contain any of `requests`. Call it before looking the
   * requests up.
   *
   * @returns for each such request, the batch that is still not applied: the engine rejects it, or it may
   *   still reach the log. The request must not be written in another batch
   */
  async finish(requests: readonly string[]): Promise<Map<string, UnfinishedBatch>> {
    const open = new Map<string, UnfinishedBatch>();
    // A batch that is not in the log after this time was never appended, and `recover` applies the rest.
    const endedBefore = performance.now() - IN_DOUBT_MS;
    for (const [id, { since }] of this.unfinished) if (since < endedBefore) this.unfinished.delete(id);
    if (this.unfinished.size === 0) return open;
    const wanted = new Set(requests);
    const overlapping = [...this.unfinished].filter(([, batch]) =>
      batch.requests.some((key) => wanted.has(key)),
    );
    if (overlapping.length === 0) return open;
    const batch_ids = overlapping.map(([id]) => id);
    const states = await this.store.rows<BatchState>('batches.states', STATES, { batch_ids });
    const rejected = await this.applyAgain(states);
    for (const { batch_id } of states) if (!rejected.has(batch_id)) this.unfinished.delete(batch_id);
    const inDoubt = new StoreUnavailable('an earlier write of the same requests may not have ended');
    for (const [id, batch] of overlapping)
      if (this.unfinished.has(id))
        for (const key of batch.requests) open.set(key, { id, reason: rejected.get(id) ?? inDoubt });
    return open;
  }

  /** Applies a batch of this process if it was appended. */
  async applyAppended(batchId: string): Promise<void> {
    const batch_ids = [batchId];
    await this.applyAgain(await this.store.rows<BatchState>('batches.states', STATES, { batch_ids }));
    this.unfinished.delete(batchId);
  }

  /** Appends the batch and the marks of earlier ones. */
  async append({ id, createdAt, messages, pieces }: Batch, hold?: Hold): Promise<void> {
    const appIds = messages.map(({ app_id }) => app_id).join();
    const uuids = messages.map(({ message_uuid }) => `'${message_uuid}'`).join();
    const instances = messages.map(({ instance_uuid }) => `'${instance_uuid ?? NIL_UUID}'`).join();
    const lists = [appIds, uuids, instances].map((list) => `[${list}]`);
    const header = [id, 0, createdAt, pieces.length, ...lists, '', '', 0].join('\t');
    let last: readonly string[] = [];
    let statements = 0;
    // One statement at a time: all statements at once would double the memory of the rows.
    for (const lines of chunkBySize(encodePieceLines(id, createdAt, pieces), STATEMENT_CHARACTERS)) {
      if (last.length > 0) await this.insert(last, token(id, `log ${statements++}`));
      last = lines;
    }
    // Without its header the batch is not in the log.
    await hold?.();
    await this.insertWithMarks([...last, header], token(id, 'log'));
  }

  /** Inserts the rows of an appended batch into their tables. */
  async apply({ id, createdAt, pieces }: Omit<Batch, 'messages'>, hold?: Hold): Promise<void> {
    for (const [index, { table, rows }] of pieces.entries()) {
      await hold?.();
      await this.store.insert(table, [rows], token(id, `piece ${index + 1}`));
    }
    this.unmarked.set(id, { createdAt, pieces: pieces.length });
  }

  /** Marks applied batches. A mark only saves work: an unmarked batch is applied again, without effect. */
  markApplied(): Promise<void> {
    return this.insertWithMarks([]);
  }

  private async insertWithMarks(lines: readonly string[], deduplicationToken?: string): Promise<void> {
    const marks = [...this.unmarked].flatMap(([id, { createdAt, pieces }]) =>
      Array.from({ length: pieces + 1 }, (_, piece) =>
        [id, piece, createdAt, pieces, '[]', '[]', '[]', '', '', 1].join('\t'),
      ),
    );
    const marked = [...this.unmarked.keys()];
    await this.insert([...lines, ...marks], deduplicationToken);
    for (const id of marked) this.unmarked.delete(id);
  }

  private insert(lines: readonly string[], deduplicationToken?: string): Promise<void> {
    return this.store.insertRaw('ingest_batches_v1', COLUMNS, lines, deduplicationToken);
  }

  /** Resolves to the batches that the engine rejects, with reasons. They must not block other batches. */
  private async applyAgain(states: readonly BatchState[]): Promise<Map<string, unknown>> {
    const rejected = new Map<string, unknown>();
    for (const state of states) {
      if (state.is_applied === 1 || this.unmarked.has(state.batch_id)) continue;
      try {
        await this.gate.run(async (hold) => {
          await this.views.requireAll();
          await this.applyFromLog(state, hold);
        });
      } catch (error) {
        if (isOutcomeUnknown(error)) throw error;
        rejected.set(state.batch_id, error);
      }
    }
    return rejected;
  }

  /** One piece at a time, to keep only that piece in memory. */
  private async applyFromLog({ batch_id, created, pieces }: BatchState, hold: Hold): Promise<void> {
    for (let piece = 1; piece <= pieces; piece++) {
      const [row] = await this.store.rows<{ table_name: string; payload: string }>('batches.piece', PIECE, {
        batch_id,
        piece,
      });
      const table = INGEST_TABLES.find((name) => name === row?.table_name);
      if (!row || !table) throw new Error(`batch ${batch_id} has no piece ${piece} to apply`);
      await hold();
      await this.store.insert(table, [row.payload], token(batch_id, `piece ${piece}`));
    }
    this.unmarked.set(batch_id, { createdAt: created, pieces });
  }
}

/** The text of a message's identity. */
export function messageKey({ app_id, message_uuid }: MessageKey): string {
  return `${app_id}/${message_uuid}`;
}

/** Each piece has a token of its own, because views behind one table write into another. */
function token(batchId: string, part: string): string {
  return hash('sha256', `${batchId}\n${part}`);
}

function* encodePieceLines(id: string, createdAt: number, pieces: readonly Piece[]): Generator<string> {
  for (const [index, { table, rows }] of pieces.entries())
    // Not joined: rows of megabytes are copied where their statement is made.
    yield `${[id, index + 1, createdAt, 0, '[]', '[]', '[]', table].join('\t')}\t${rows}\t0`;
}
