import { ClickHouse } from '../../store/client/clickhouse.client.js';
import type { AlertState, Channel } from './rule.js';

export interface RuleRow {
  team_id: number;
  /** 0: all apps. */
  app_id: number;
  name: string;
  source: 'command' | 'file';
  /** JSON of a `Rule`. */
  definition: string;
  receivers: Channel['kind'][];
  muted_until: string;
}

export interface StateRow {
  rule_app_id: number;
  rule: string;
  app_id: number;
  state: AlertState;
  since: string;
  value: number | null;
  evaluated_at: string;
}

/** States of a rule that are shown. */
const SHOWN = 10;

const RULES = `
SELECT team_id, app_id, name, toString(source) AS source, definition, receivers, muted_until
FROM alert_rules_v1 FINAL
WHERE team_id = {team_id:UInt32} AND NOT deleted
ORDER BY app_id, name`;

const STATES = `
SELECT rule_app_id, rule, app_id, toString(state) AS state, s.since AS since, value, s.evaluated_at AS evaluated_at
FROM alert_states_v1 AS s FINAL
WHERE team_id = {team_id:UInt32} AND app_id IN {app_ids:Array(UInt32)}
ORDER BY rule_app_id, rule, app_id, since DESC
LIMIT ${SHOWN} BY rule_app_id, rule, app_id`;

/** Has no decorator, because the command line uses it too, and commands do not load the framework. */
export class AlertsRepository {
  constructor(private readonly store: ClickHouse) {}

  findRules(teamId: number): Promise<RuleRow[]> {
    return this.store.rows('alerts.rules', RULES, { team_id: teamId }, { teamId });
  }

  findStates(teamId: number, appIds: readonly number[]): Promise<StateRow[]> {
    return this.store.rows('alerts.states', STATES, { team_id: teamId, app_ids: appIds }, { teamId });
  }
}
