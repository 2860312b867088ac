import { createHash } from 'node:crypto';
import type { ClickHouse } from '../../clickhouse/clickhouse.client.js';
import { isOpen } from '../../clickhouse/clickhouse.errors.js';
import { lookups } from '../../ingestion/lookups.js';

/** The doors that a group's rows go through; Null tables, but for the last, behind which the views stand. */
export type Door = 'request_counts' | 'logged_requests' | 'env_activity_v1';
export type Rows = Partial<Record<Door, string[]>>;

/** What makes a message the same again: the app and its UUID. */
export interface MessageKey {
  app_id: number;
  message_uuid: string;
}

/** Messages that are committed together, and the rows they come to. */
export interface Group {
  id: string;
  /** Whole seconds, as the engine reads a DateTime in UTC. */
  createdAt: string;
  messages: readonly MessageKey[];
  rows: Rows;
}

/** Messages by what became of them before; those that were taken are in neither. */
export interface Sorted<M> {
  fresh: M[];
  refused: Map<M, unknown>;
}

/** What a recovery came to; the refused by their group's ID. */
export interface Recovery {
  completed: number;
  refused: ReadonlyMap<string, unknown>;
}

interface Known extends MessageKey {
  group_id: string;
}

interface GroupState {
  group_id: string;
  since: string;
  is_applied: number;
}

const KNOWN = `
SELECT app_id, message_uuid, group_id FROM ingest_messages_v1
WHERE message_uuid IN {message_uuids:Array(UUID)}`;
const STATES = `
SELECT group_id, toString(any(created_at)) AS since, max(applied) AS is_applied FROM ingest_groups_v1
WHERE group_id IN {group_ids:Array(UUID)} GROUP BY group_id`;
/** A group without messages was never finished writing: nobody was told that it was taken. */
const UNAPPLIED = `
SELECT group_id, toString(any(created_at)) AS since, max(applied) AS is_applied FROM ingest_groups_v1
WHERE created_at <= now() - {older_than_seconds:UInt32}
  AND group_id GLOBAL IN (SELECT group_id FROM ingest_messages_v1)
GROUP BY group_id HAVING is_applied = 0 ORDER BY since`;
const PAYLOAD = `
SELECT payload FROM ingest_groups_v1 WHERE group_id = {group_id:UUID} AND applied = 0 LIMIT 1`;

/**
 * Which messages were taken, in groups, so that each counts once. A group is `log`ged with its rows, then its rows go
 * `through` the doors, then it is marked as applied. Whatever breaks off in between is completed from here, by the
 * same rows under the same token, of which every table behind the doors takes what it does not have.
 */
export class IngestLedger {
  /** Groups that went through and are not marked yet: the next one that is logged takes the marks along. */
  private readonly unmarked = new Map<string, string>();

  constructor(private readonly store: ClickHouse) {}

  /**
   * Of the messages those that were never taken, and those that were, but whose group the engine refuses, with why.
   * What was taken and broke off is completed first.
   */
  async fresh<M extends MessageKey>(messages: readonly M[]): Promise<Sorted<M>> {
    const known = await this.known(messages.map(({ message_uuid }) => message_uuid));
    if (known.length === 0) return { fresh: [...messages], refused: new Map() };
    const states = await this.states(known.map(({ group_id }) => group_id));
    const refusedGroups = await this.completeAll(states);
    const groups = new Set(states.map(({ group_id }) => group_id));
    const taken = new Map(known.map((one) => [keyOf(one), one.group_id]));
    const sorted: Sorted<M> = { fresh: [], refused: new Map() };
    for (const message of messages) {
      const group = taken.get(keyOf(message));
      if (group === undefined || !groups.has(group)) sorted.fresh.push(message);
      else if (refusedGroups.has(group)) sorted.refused.set(message, refusedGroups.get(group));
    }
    return sorted;
  }

  /**
   * Completes the groups of at least that age that broke off, whoever had them.
   *
   * @returns how many it completed, and why the engine refused others
   */
  async recover(olderThanSeconds: number): Promise<Recovery> {
    const params = { older_than_seconds: olderThanSeconds };
    const states = await this.store.rows<GroupState>('ingest.unapplied', UNAPPLIED, params);
    const refused = await this.completeAll(states);
    await this.mark();
    return { completed: states.length - refused.size, refused };
  }

  /** Writes the group down, and with it the marks of those before it. Again changes nothing. */
  async log({ id, createdAt, messages, rows }: Group): Promise<void> {
    const row = {
      group_id: id,
      created_at: createdAt,
      app_ids: messages.map(({ app_id }) => app_id),
      message_uuids: messages.map(({ message_uuid }) => message_uuid),
      payload: JSON.stringify(rows),
      applied: 0,
    };
    await this.insert([JSON.stringify(row)], tokenOf(id, 'ingest_groups_v1'));
  }

  /** Puts the rows of a logged group through the doors. Again changes nothing. */
  async through(group: Pick<Group, 'id' | 'createdAt' | 'rows'>): Promise<void> {
    for (const [door, rows] of Object.entries(group.rows))
      await this.store.insert(door, rows, tokenOf(group.id, door));
    this.unmarked.set(group.id, group.createdAt);
  }

  /** Marks what went through. A mark only saves work: without it the group goes through once more, for nothing. */
  mark(): Promise<void> {
    return this.insert([]);
  }

  private async insert(groups: readonly string[], token?: string): Promise<void> {
    const marks = [...this.unmarked];
    const rows = marks.map(([group_id, created_at]) => JSON.stringify({ group_id, created_at, applied: 1 }));
    await this.store.insert('ingest_groups_v1', [...groups, ...rows], token);
    for (const [id] of marks) this.unmarked.delete(id);
  }

  /** Resolves to the groups that the engine refuses, with why: one of them must not keep the others from completion. */
  private async completeAll(states: readonly GroupState[]): Promise<Map<string, unknown>> {
    const refused = new Map<string, unknown>();
    for (const state of states)
      try {
        await this.complete(state);
      } catch (error) {
        if (isOpen(error)) throw error;
        refused.set(state.group_id, error);
      }
    return refused;
  }

  private async complete({ group_id, since, is_applied }: GroupState): Promise<void> {
    if (is_applied === 1 || this.unmarked.has(group_id)) return;
    const [row] = await this.store.rows<{ payload: string }>('ingest.payload', PAYLOAD, { group_id });
    const rows = JSON.parse(row?.payload ?? '{}') as Rows;
    await this.through({ id: group_id, createdAt: since, rows });
  }

  private async known(uuids: readonly string[]): Promise<Known[]> {
    const known: Known[] = [];
    for (const message_uuids of lookups(uuids))
      known.push(...(await this.store.rows<Known>('ingest.known', KNOWN, { message_uuids })));
    return known;
  }

  private states(ids: readonly string[]): Promise<GroupState[]> {
    const params = { group_ids: [...new Set(ids)] };
    return this.store.rows<GroupState>('ingest.states', STATES, params);
  }
}

/** The text of a message's identity. */
export function keyOf({ app_id, message_uuid }: MessageKey): string {
  return `${app_id}/${message_uuid}`;
}

/** A group's token in one table; each table has its own, since the views of one door write into another. */
function tokenOf(groupId: string, table: string): string {
  return createHash('sha256').update(`${groupId}\n${table}`).digest('hex');
}
