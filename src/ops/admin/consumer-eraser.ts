import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { CONSUMER_ATTRIBUTES } from '../../sources/otlp/attributes.js';
import { chunk } from '../../shared/chunk.js';
import { type Parameters, renderParameters } from '../../store/client/query-parameters.js';
import { REMOVE_OLD_PARTS } from '../../store/old-parts.js';
import { ABANDONED_AFTER_SECONDS, type BatchLog } from '../../write/batch-log.js';
import { MAX_IDENTIFIER } from '../../sources/decoding/request-decoders.js';
import { ERASED_NAME, ERASING_NAME, ERASURES_KNOWN_AFTER_MS } from '../../records/names/erased-consumers.js';
import { AdminError } from './admin.error.js';
import { findSharedSpans } from './shared-traces.js';

/** The result of an erasure. */
interface Erasure {
  app_id: number;
  /** IDs under which the counts remain. */
  consumer_ids: number[];
  /** Number of erased logged requests, spans, log records and errors with texts. */
  requests: number;
  spans: number;
  application_logs: number;
  errors: number;
  /** Endpoints of the app whose path contains the identifier; they are kept. */
  endpoints_with_identifier: number;
}

/** Rows of a table. */
interface Rows {
  where: string;
  params: Parameters;
}

type Deleted = Pick<Erasure, 'requests' | 'spans' | 'application_logs' | 'errors'>;

/**
 * The tables that a consumer is erased from. Counts and the last activity only have an ID; the ledger of
 * imports only has UUIDs and times of requests.
 */
const TABLES = [
  'application_logs_v1',
  'spans_v1',
  'request_details_v1',
  'errors_v1',
  'request_logs_v1',
  'ingest_batches_v1',
  'consumers_v1',
  'consumer_groups_v1',
  'api_keys_v1',
] as const;

const IS_CLUSTER = `
SELECT count() AS tables FROM system.tables
WHERE database = currentDatabase() AND name = 'request_logs_v1' AND engine = 'Distributed'`;
const KEYS = `
SELECT identifier FROM api_keys_v1 AS k FINAL
INNER JOIN apps_v1 AS a FINAL ON a.team_id = k.team_id
WHERE a.id = {app_id:UInt32} AND k.consumer = {identifier:String} AND (empty(k.app_ids) OR has(k.app_ids, a.id))
ORDER BY identifier`;
/**
 * Also finds a consumer whose erasure was interrupted, by any remaining row: the latest row may already have
 * the final name.
 */
const CONSUMERS = `
SELECT DISTINCT id FROM consumers_v1
WHERE app_id = {app_id:UInt32}
  AND (identifier = {identifier:String} OR identifier = ${ERASING_NAME} AND name = {mark:String}) ORDER BY id`;
/** Changes insert the whole row again; rows with a name alone have the oldest version (see `NameTable`). */
const MARK = (identifier: string, name: string) => `
INSERT INTO consumers_v1 (app_id, id, identifier, name, group_id, created_at)
SELECT app_id, id, ${identifier}, ${name}, 0, min(created_at) FROM consumers_v1
WHERE app_id = {app_id:UInt32} AND id IN {ids:Array(UInt32)} GROUP BY app_id, id`;
const MARK_ERASING = MARK(ERASING_NAME, '{mark:String}');
const MARK_ERASED = MARK(ERASED_NAME, ERASED_NAME);

const REQUESTS = `FROM request_logs_v1 WHERE app_id = {app_id:UInt32} AND consumer_id IN {ids:Array(UInt32)}`;
/** Traces of its requests. */
const TRACES = `SELECT trace_id ${REQUESTS} AND trace_id != toFixedString('', 16)`;
/** Trims like JavaScript's `trim`. */
const trim = (sql: string) =>
  `replaceRegexpAll(${sql}, '^[\\\\s\\\\v\\\\p{Z}\\\\x{FEFF}]+|[\\\\s\\\\v\\\\p{Z}\\\\x{FEFF}]+$', '')`;
/**
 * Whether an attribute of a span is the identifier: a text that is stored in that form (see
 * `identifierDecoder`), or a number.
 */
const isIdentifier = (attribute: string) => {
  const text = trim(`simpleJSONExtractString(attributes, '${attribute}')`);
  return `${trim(`substringUTF8(${text}, 1, ${MAX_IDENTIFIER})`)} = {identifier:String}
    OR simpleJSONExtractRaw(attributes, '${attribute}') = {identifier:String}`;
};
const NAMES_IT = CONSUMER_ATTRIBUTES.map(isIdentifier).join('\n    OR ');
const NAMES_ONE = CONSUMER_ATTRIBUTES.map(
  (attribute) => `simpleJSONExtractRaw(attributes, '${attribute}') NOT IN ('', '""', 'null')`,
).join(' OR ');
/** Traces of requests that were not logged. */
const OTHER_TRACES = `
SELECT DISTINCT lower(hex(trace_id)) AS trace FROM spans_v1 WHERE app_id = {app_id:UInt32} AND (${NAMES_IT})`;
const OF_TRACES = `app_id = {app_id:UInt32} AND trace_id IN (${TRACES})`;
const OF_OTHER_TRACES = `app_id = {app_id:UInt32} AND lower(hex(trace_id)) IN {traces:Array(String)} AND trace_id NOT IN (${TRACES})`;
/** The traces that have a request of another consumer, whether it was logged or not. */
const SHARED = (ofTraces: string) => `
SELECT DISTINCT lower(hex(trace_id)) AS trace FROM request_logs_v1
WHERE ${ofTraces} AND consumer_id != 0 AND consumer_id NOT IN {ids:Array(UInt32)}
UNION DISTINCT
SELECT lower(hex(trace_id)) AS trace FROM spans_v1
WHERE ${ofTraces} AND kind = 'SERVER' AND (${NAMES_ONE}) AND NOT (${NAMES_IT})`;
/** A range of traces without the shared ones. There may be too many traces for one statement. */
const UNSHARED = `${OF_TRACES} AND lower(hex(trace_id)) > {after:String} AND lower(hex(trace_id)) <= {last:String}
  AND lower(hex(trace_id)) NOT IN {shared:Array(String)}`;
/** Greater than all IDs. */
const LAST_TRACE = 'g';
const OF_SPANS = {
  spans_v1: 'app_id = {app_id:UInt32} AND lower(hex(concat(trace_id, span_id))) IN {spans:Array(String)}',
  application_logs_v1: `app_id = {app_id:UInt32} AND lower(hex(concat(
    trace_id, if(server_span_id = toFixedString('', 8), span_id, server_span_id)))) IN {spans:Array(String)}`,
} as const;
const OF_CONSUMER = 'app_id = {app_id:UInt32} AND consumer_id IN {ids:Array(UInt32)}';
const OF_REQUESTS = `app_id = {app_id:UInt32} AND request_uuid IN (SELECT request_uuid ${REQUESTS})`;
/**
 * Payloads that a mark replaces anyway when the engine merges; and payloads of batches that were never
 * completely appended.
 */
const OF_APPLIED_BATCHES = `piece > 0 AND applied = 0 AND batch_id IN (SELECT batch_id FROM ingest_batches_v1 WHERE applied = 1)`;
const OF_INCOMPLETE_BATCHES = `piece > 0 AND created_at <= now() - {older_than_seconds:UInt32}
  AND batch_id NOT IN (SELECT batch_id FROM ingest_batches_v1 WHERE piece = 0)`;
const OF_NAMES = `app_id = {app_id:UInt32} AND id IN {ids:Array(UInt32)} AND identifier != ${ERASING_NAME}`;
const OF_MARKS = `app_id = {app_id:UInt32} AND id IN {ids:Array(UInt32)} AND identifier = ${ERASING_NAME}`;
/** Groups without a consumer: the consumer's group, if it was alone in it. */
const UNUSED_GROUPS = `
SELECT id FROM consumer_groups_v1 FINAL WHERE app_id = {app_id:UInt32}
  AND id NOT IN (SELECT group_id FROM consumers_v1 FINAL WHERE app_id = {app_id:UInt32})`;
const OF_GROUPS = 'app_id = {app_id:UInt32} AND id IN {groups:Array(UInt32)}';

const UNAPPLIED = `
SELECT count() AS batches FROM (
  SELECT batch_id FROM ingest_batches_v1 WHERE piece = 0 AND created_at <= fromUnixTimestamp({until:UInt32})
  GROUP BY batch_id HAVING max(applied) = 0)`;
const ENDPOINTS = `
SELECT count() AS endpoints FROM endpoints_v1 FINAL
WHERE app_id = {app_id:UInt32} AND position(path, {identifier:String}) > 0`;
const COUNT = (table: string, where: string) => `SELECT count() AS rows FROM ${table} WHERE ${where}`;
const OLD_PARTS = `
SELECT count() AS parts FROM system.parts
WHERE database = currentDatabase() AND table = {table:String} AND NOT active`;

/** IDs of traces or spans of one statement: a server accepts parameters of 128 KiB. */
const TRACES_AT_ONCE = 2_000;
/** A batch that was not completely appended within this time never will be. */
const INCOMPLETE_AFTER_SECONDS = 600;
/** A mutation rewrites parts, which can have many gigabytes. */
const MUTATION_TIMEOUT_MS = 6 * 3_600_000;
/** Batches are marked within a second; a query can use an old part for as long as it runs. */
const WAIT_MS = 60_000;
const POLL_MS = 200;
/** Number of passes over the tables: a slow writer may add rows to the first ones. */
const MAX_PASSES = 5;

/**
 * Erases a consumer of an app from every table, and from the disk. Its counts stay, under an ID without a
 * name.
 *
 *     name it "erasing" ──▶ wait until all writers know ──▶ delete rows ──▶ delete names ──▶ remove old parts
 *     ──▶ name it "erased"
 *
 * Each step can be repeated. After an interruption, the same command continues: the consumer is found by its
 * interim name, which has a hash of its identifier until the end. A command for another consumer would not
 * find the spans that have the identifier only. Statements that the engine keeps (mutations) have IDs, never
 * the identifier.
 */
export class ConsumerEraser {
  /** @param hasOtherWriters whether other processes may write to the store */
  constructor(
    private readonly store: ClickHouse,
    private readonly batches: BatchLog,
    private readonly hasOtherWriters: boolean,
  ) {}

  /**
   * @throws AdminError if the consumer does not exist, a key is limited to it, or something is in use for too
   * long
   */
  async erase(appId: number, identifier: string): Promise<Erasure> {
    const params = { app_id: appId, identifier };
    await this.requireSupported(params);
    const mark = `erasing-${hash('sha256', identifier)}`;
    const consumers = await this.store.rows<{ id: number }>('consumers.find', CONSUMERS, { ...params, mark });
    const ids = consumers.map(({ id }) => id);
    if (ids.length === 0) throw new AdminError(`App ${appId} has no consumer with this identifier`);
    const scope = { app_id: appId, ids };
    await this.mark(MARK_ERASING, { ...scope, mark });
    if (this.hasOtherWriters) {
      await pause(ERASURES_KNOWN_AFTER_MS);
      // Before this, a writer could describe the consumer again.
      await this.mark(MARK_ERASING, { ...scope, mark });
    }
    const deleted = await this.deleteRows(scope, identifier);
    await this.deleteNames(scope);
    for (const table of TABLES) await this.removeOldParts(table);
    await this.mark(MARK_ERASED, scope);
    await this.delete('consumers_v1', OF_MARKS, scope);
    await this.removeOldParts('consumers_v1');
    const [found] = await this.store.rows<{ endpoints: number }>('endpoints.find_text', ENDPOINTS, params);
    return { app_id: appId, consumer_ids: ids, ...deleted, endpoints_with_identifier: found?.endpoints ?? 0 };
  }

  private async requireSupported(params: { app_id: number; identifier: string }): Promise<void> {
    const [clustered] = await this.store.rows<{ tables: number }>('tables.find_distributed', IS_CLUSTER);
    if (clustered?.tables) throw new AdminError('consumer erase does not run on a cluster');
    const keys = await this.store.rows<{ identifier: string }>('api_keys.find_consumer', KEYS, params);
    if (keys.length > 0)
      throw new AdminError(
        `Keys are limited to this consumer: ${keys.map((key) => key.identifier).join(', ')}. Delete them first: key delete`,
      );
  }

  private async deleteRows(scope: { app_id: number; ids: number[] }, identifier: string): Promise<Deleted> {
    const total: Deleted = { requests: 0, spans: 0, application_logs: 0, errors: 0 };
    for (let pass = 0; pass < MAX_PASSES; pass++) {
      await this.applyBatches();
      const chosen = await this.chooseOfTraces({ ...scope, identifier });
      const found: Deleted = {
        requests: await this.count('request_logs_v1', OF_CONSUMER, scope),
        spans: await this.countAll('spans_v1', chosen.spans_v1),
        application_logs: await this.countAll('application_logs_v1', chosen.application_logs_v1),
        errors: await this.count('errors_v1', OF_CONSUMER, scope),
      };
      if (pass > 0 && Object.values(found).every((rows) => rows === 0)) return total;
      for (const kind of Object.keys(total) as (keyof Deleted)[]) total[kind] += found[kind];
      // Log records first, and spans of other requests last: each step finds its rows by rows that later
      // steps delete.
      for (const table of ['application_logs_v1', 'spans_v1'] as const)
        for (const { where, params } of chosen[table]) await this.delete(table, where, params);
      await this.delete('request_details_v1', OF_REQUESTS, scope);
      await this.delete('errors_v1', OF_CONSUMER, scope);
      await this.delete('request_logs_v1', OF_CONSUMER, scope);
      await this.delete('ingest_batches_v1', OF_APPLIED_BATCHES, {});
      await this.delete('ingest_batches_v1', OF_INCOMPLETE_BATCHES, {
        older_than_seconds: this.hasOtherWriters ? INCOMPLETE_AFTER_SECONDS : 0,
      });
    }
    throw new AdminError('Requests of the consumer keep arriving under its old ID: run the command again');
  }

  /** Waits until no earlier batch is in flight: its rows would be written after the others are deleted. */
  private async applyBatches(): Promise<void> {
    const until = Math.floor(Date.now() / 1000);
    const { rejected } = await this.batches.recover(this.hasOtherWriters ? ABANDONED_AFTER_SECONDS : 0);
    await this.waitUntil(
      async () => {
        const [row] = await this.store.rows<{ batches: number }>('batches.count_unapplied', UNAPPLIED, {
          until,
        });
        return (row?.batches ?? 0) === 0;
      },
      rejected.size > 0
        ? `Batches that the engine rejects may contain the consumer: ${[...rejected.keys()].join(', ')}`
        : 'Batches are not written yet: run the command again',
    );
  }

  private async deleteNames(scope: { app_id: number; ids: number[] }): Promise<void> {
    const groups = (await this.readAll<{ id: number }>(UNUSED_GROUPS, scope)).map(({ id }) => id);
    if (groups.length > 0) await this.delete('consumer_groups_v1', OF_GROUPS, { ...scope, groups });
    await this.delete('consumers_v1', OF_NAMES, scope);
    // Deleted keys, and former scopes of other keys, stay in their part until it is merged.
    await this.store.command('OPTIMIZE TABLE api_keys_v1 FINAL', undefined, { name: 'api_keys.erase' });
  }

  /** Parts that a mutation replaced stay on the disk for minutes. */
  private async removeOldParts(table: string): Promise<void> {
    await this.alter(table, 'MODIFY SETTING old_parts_lifetime = 0', {});
    try {
      await this.waitUntil(async () => {
        await this.alter(table, REMOVE_OLD_PARTS, {});
        const [row] = await this.store.rows<{ parts: number }>('parts.count_old', OLD_PARTS, { table });
        return (row?.parts ?? 0) === 0;
      }, `Queries keep old parts of ${table} in use: run the command again`);
    } finally {
      await this.alter(table, 'RESET SETTING old_parts_lifetime', {});
    }
  }

  private async mark(sql: string, params: Parameters): Promise<void> {
    await this.store.command(sql, params, { name: 'consumers.mark_erased', operation: 'INSERT' });
  }

  private delete(table: (typeof TABLES)[number], where: string, params: Parameters): Promise<void> {
    return this.alter(table, `DELETE WHERE ${where} SETTINGS mutations_sync = 2`, params);
  }

  private alter(table: string, change: string, params: Parameters): Promise<void> {
    // Tables and changes come from this file, never from outside. A mutation is kept as text, so its values
    // are literals.
    const statement = renderParameters(`ALTER TABLE ${table} ${change}`, params);
    return this.store.command(statement, undefined, {
      name: `${table}.erase`,
      timeoutMs: MUTATION_TIMEOUT_MS,
    });
  }

  /**
   * Selects the spans and log records of its traces, with one condition for each table. Of a trace without
   * requests of other consumers everything is selected: also spans of other services, above its requests or
   * without a known parent.
   */
  private async chooseOfTraces(scope: {
    app_id: number;
    ids: number[];
    identifier: string;
  }): Promise<Record<keyof typeof OF_SPANS, Rows[]>> {
    const listTraces = async (sql: string, params: Parameters) =>
      (await this.readAll<{ trace: string }>(sql, params)).map(({ trace }) => trace);
    const traces = await listTraces(OTHER_TRACES, scope);
    const shared = new Set(await listTraces(SHARED(OF_TRACES), scope));
    for (const some of chunk(traces, TRACES_AT_ONCE))
      for (const trace of await listTraces(SHARED(OF_OTHER_TRACES), { ...scope, traces: some }))
        shared.add(trace);
    const read = <Row>(sql: string, params: Parameters) => this.readAll<Row>(sql, params);
    const names = { it: NAMES_IT, anyConsumer: NAMES_ONE };
    const { spans, ofLogs } = await findSharedSpans(read, [...shared], scope, names);
    // A mutation is kept as text, which must not contain the identifier.
    const { app_id, ids } = scope;
    const whole: Rows[] = [];
    let after = '';
    for (const some of [...chunk([...shared].sort(), TRACES_AT_ONCE), [LAST_TRACE]]) {
      const last = some.at(-1) ?? after;
      whole.push({ where: UNSHARED, params: { app_id, ids, after, last, shared: some } });
      after = last;
    }
    const unshared = traces.filter((trace) => !shared.has(trace));
    for (const some of chunk(unshared, TRACES_AT_ONCE))
      whole.push({ where: OF_OTHER_TRACES, params: { app_id, ids, traces: some } });
    const choose = (table: keyof typeof OF_SPANS, keys: readonly string[]) => [
      ...whole,
      ...Array.from(chunk(keys, TRACES_AT_ONCE), (some) => ({
        where: OF_SPANS[table],
        params: { app_id, spans: some },
      })),
    ];
    return {
      spans_v1: choose('spans_v1', spans),
      application_logs_v1: choose('application_logs_v1', ofLogs),
    };
  }

  private async countAll(table: string, chosen: readonly Rows[]): Promise<number> {
    let rows = 0;
    for (const { where, params } of chosen) rows += await this.count(table, where, params);
    return rows;
  }

  private async count(table: string, where: string, params: Parameters): Promise<number> {
    const [row] = await this.readAll<{ rows: number }>(COUNT(table, where), params);
    return row?.rows ?? 0;
  }

  private readAll<Row>(sql: string, params: Parameters): Promise<Row[]> {
    return this.store.rows<Row>('consumers.erase', sql, params, { unlimited: true });
  }

  private async waitUntil(isDone: () => Promise<boolean>, message: string): Promise<void> {
    const deadline = performance.now() + WAIT_MS;
    while (!(await isDone())) {
      if (performance.now() > deadline) throw new AdminError(message);
      await pause(POLL_MS);
    }
  }
}
