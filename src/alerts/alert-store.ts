import type { AlertState, Channel } from '../api/alerts/rule.js';
import type { ClickHouse } from '../store/client/clickhouse.client.js';
import { DAY_MS } from '../shared/time/units.js';

export interface StoredRule {
  team_id: number;
  /** 0: all apps of the team. */
  app_id: number;
  name: string;
  source: 'command' | 'file';
  /** JSON of a `Rule`. */
  definition: string;
  /** JSON of `Channel`s. */
  channels: string;
  /** Milliseconds since the epoch; 0: not muted. */
  muted_until: number;
  /** Since when it has its definition, in milliseconds since the epoch. */
  defined_at: number;
  deleted: boolean;
}

/** A rule has one state for each of its apps. All times are in milliseconds since the epoch. */
export interface StoredState {
  team_id: number;
  rule_app_id: number;
  rule: string;
  app_id: number;
  since: number;
  transition_id: string;
  state: AlertState;
  value: number | null;
  results: number[];
  /** Start of a firing that was told and is not resolved yet; 0: there is none. */
  fired_at: number;
  told: 'nothing' | 'firing' | 'resolved' | 'digest';
  evaluated_at: number;
}

export interface StoredMessage {
  team_id: number;
  message_id: string;
  created_at: number;
  channel: Channel['kind'];
  target: string;
  transitions: string[];
  /** JSON of `ToldAlert`s. */
  alerts: string;
  attempts: number;
  state: 'waiting' | 'delivered' | 'failed';
  next_at: number;
  error: string;
}

const MS = (column: string) => `toFloat64(toUnixTimestamp64Milli(r.${column})) AS ${column}`;

/** A deleted rule is kept for the alerts that it fired: they are resolved. */
const RULES = `
SELECT team_id, app_id, name, toString(r.source) AS source, definition, channels, ${MS('muted_until')}, ${MS('defined_at')},
  deleted
FROM alert_rules_v1 AS r FINAL
ORDER BY team_id, app_id, name`;

const STATES = `
SELECT team_id, rule_app_id, rule, app_id, ${MS('since')}, transition_id, toString(r.state) AS state, value, results, ${MS('fired_at')},
  toString(r.told) AS told, ${MS('evaluated_at')}
FROM alert_states_v1 AS r FINAL`;

const CURRENT_STATES = `${STATES}
ORDER BY team_id, rule_app_id, rule, app_id, r.since DESC
LIMIT 1 BY team_id, rule_app_id, rule, app_id`;

/**
 * Also those of a process that died before it wrote the messages. A digest is told for a week; its message is
 * kept longer.
 */
const UNTOLD = `${STATES}
WHERE r.told != 'nothing'
  AND r.since > fromUnixTimestamp64Milli(if(r.told = 'digest', {digests_from:Int64}, {from:Int64}), 'UTC')
  AND transition_id NOT IN (SELECT arrayJoin(transitions) FROM alert_messages_v1)
ORDER BY team_id, rule_app_id, rule, app_id, r.since`;

/** Of each receiver the oldest, so that one with many delays no other. */
const WAITING = `
SELECT team_id, message_id, ${MS('created_at')}, toString(r.channel) AS channel, target, transitions, alerts, attempts, toString(r.state) AS state,
  ${MS('next_at')}, error
FROM alert_messages_v1 AS r FINAL
WHERE r.state = 'waiting' AND r.next_at <= fromUnixTimestamp64Milli({now:Int64}, 'UTC')
ORDER BY r.created_at
LIMIT 1 BY r.channel, target
LIMIT 500`;

const TEAMS = 'SELECT id, team_id FROM apps_v1 FINAL';

const CONSUMER = `
SELECT id FROM consumers_v1 FINAL WHERE app_id = {app_id:UInt32} AND identifier = {identifier:String}`;

const LAST_DATA = `
SELECT toFloat64(toUnixTimestamp64Milli(max(a.last_sync_at))) AS at
FROM env_activity_v1 AS a
WHERE app_id = {app_id:UInt32}
  AND ({env:String} = '' OR app_env_id IN (SELECT id FROM app_envs_v1 WHERE app_id = {app_id:UInt32} AND name = {env:String}))`;

/** The rows of alerts: their rules, states and messages. */
export class AlertStore {
  constructor(private readonly store: ClickHouse) {}

  findRules(): Promise<StoredRule[]> {
    return this.store.rows('alerts.all_rules', RULES);
  }

  /** The team of each app. */
  async findTeams(): Promise<Map<number, number>> {
    const rows = await this.store.rows<{ id: number; team_id: number }>('alerts.teams', TEAMS);
    return new Map(rows.map(({ id, team_id }) => [id, team_id]));
  }

  async saveRules(rules: readonly StoredRule[]): Promise<void> {
    await this.insert(
      'alert_rules_v1',
      // In microseconds, as the column is.
      rules.map((rule) => ({ ...rule, updated_at: 1000 * Date.now() })),
    );
  }

  findCurrentStates(): Promise<StoredState[]> {
    return this.store.rows('alerts.current_states', CURRENT_STATES);
  }

  async saveStates(states: readonly StoredState[]): Promise<void> {
    await this.insert('alert_states_v1', states);
  }

  /** Transitions of the last day, and digests of the last week, that are in no message yet. */
  findUntold(now: number): Promise<StoredState[]> {
    const params = { from: now - DAY_MS, digests_from: now - 7 * DAY_MS };
    return this.store.rows('alerts.untold', UNTOLD, params);
  }

  async saveMessages(messages: readonly StoredMessage[]): Promise<void> {
    await this.insert('alert_messages_v1', messages);
  }

  findDueMessages(now: number): Promise<StoredMessage[]> {
    return this.store.rows('alerts.due_messages', WAITING, { now });
  }

  /** The ID of a consumer; undefined if there is none. */
  async findConsumer(appId: number, identifier: string): Promise<number | undefined> {
    const params = { app_id: appId, identifier };
    const [row] = await this.store.rows<{ id: number }>('alerts.consumer', CONSUMER, params);
    return row?.id;
  }

  /** When an app, or one of its environments, last sent data; 0: never. */
  async findLastData(appId: number, env = ''): Promise<number> {
    const [row] = await this.store.rows<{ at: number }>('alerts.last_data', LAST_DATA, {
      app_id: appId,
      env,
    });
    return row?.at ?? 0;
  }

  /** All rows in one block, which is stored as a whole or not at all. */
  private async insert(table: string, rows: readonly object[]): Promise<void> {
    await this.store.insert(
      table,
      rows.map((row) => JSON.stringify(row)),
    );
  }
}
