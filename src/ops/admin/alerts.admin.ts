import { AlertStore, type StoredRule } from '../../alerts/alert-store.js';
import { findLastDue } from '../../alerts/digest-schedule.js';
import { AlertMeasurements, type MeasuringServices } from '../../alerts/measure.js';
import { type Transition, composeMessages, createTestTransition } from '../../alerts/messages.js';
import { RECEIVERS, RULE_NAME, toStored } from '../../alerts/rules-file.js';
import { NotDelivered, type SendConfig, send } from '../../alerts/send.js';
import { type Channel, RULE, type Rule, describeIssues, describeRule } from '../../api/alerts/rule.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { AdminError } from './admin.error.js';
import type { AppsAdmin } from './apps.admin.js';
import type { TeamsAdmin } from './teams.admin.js';

/** Rules of a team; each takes processor time every minute. */
const MAX_RULES = 1_000;

/** Where a rule is: in an app, or in a team for all of its apps. */
export interface RulePlace {
  app?: number | undefined;
  team?: number | undefined;
}

/** A rule as commands show it: of a receiver only its kind and its host. */
export interface ShownRule {
  team_id: number;
  app_id: number | 'all';
  name: string;
  source: StoredRule['source'];
  severity: Rule['severity'];
  condition: string;
  receivers: string;
  muted_until: string | null;
}

/** Opens what reads the numbers of digests. */
type OpenServices = () => Promise<MeasuringServices & { close: () => Promise<void> }>;

export class AlertsAdmin {
  private readonly rules: AlertStore;

  constructor(
    store: ClickHouse,
    private readonly teams: TeamsAdmin,
    private readonly apps: AppsAdmin,
  ) {
    this.rules = new AlertStore(store);
  }

  /** @param rule as in a file of rules, not checked yet; so are its receivers */
  async create(place: RulePlace, name: string, rule: object, receivers: object): Promise<ShownRule> {
    const { teamId, appId } = await this.locate(place);
    const checked = {
      app: appId,
      name: check(RULE_NAME.safeParse(name)),
      rule: check(RULE.safeParse(rule)),
      receivers: check(RECEIVERS.safeParse(receivers)),
    };
    if (checked.receivers.length === 0)
      throw new AdminError('A rule needs a receiver: --webhook, --slack, --teams or --email');
    const existing = (await this.rules.findRules()).filter(({ team_id }) => team_id === teamId);
    const same = existing.find((row) => row.app_id === appId && row.name === checked.name);
    if (same && !same.deleted) throw new AdminError(`There is a rule ${checked.name} already`);
    if (existing.filter(({ deleted }) => !deleted).length >= MAX_RULES)
      throw new AdminError(`Team ${teamId} has ${MAX_RULES} rules, which is the limit`);
    const stored = toStored(teamId, checked, 'command');
    await this.rules.saveRules([stored]);
    return show(stored);
  }

  async list(place: RulePlace): Promise<ShownRule[]> {
    const { teamId, appId } = await this.locate(place);
    const rules = await this.rules.findRules();
    return rules
      .filter(
        (row) =>
          row.team_id === teamId &&
          !row.deleted &&
          (place.app === undefined || row.app_id === appId || row.app_id === 0),
      )
      .map(show);
  }

  async show(place: RulePlace, name: string): Promise<ShownRule & { rule: Rule }> {
    const stored = await this.require(place, name);
    return { ...show(stored), rule: JSON.parse(stored.definition) as Rule };
  }

  /** @param until milliseconds since the epoch; 0 ends it */
  async mute(place: RulePlace, name: string, until: number): Promise<ShownRule> {
    const stored = { ...(await this.require(place, name)), muted_until: until };
    await this.rules.saveRules([stored]);
    return show(stored);
  }

  /** Deletes a rule. What it fired is resolved within a minute. */
  async delete(place: RulePlace, name: string): Promise<{ name: string; deleted: true }> {
    const stored = await this.require(place, name);
    if (stored.source === 'file') throw new AdminError(`Rule ${name} is in ALERTS_FILE: delete it there`);
    await this.rules.saveRules([{ ...stored, deleted: true }]);
    return { name, deleted: true };
  }

  /** Sends a test to each receiver of a rule: the last digest, if it is one of digests. */
  async test(
    place: RulePlace,
    name: string,
    config: SendConfig,
    openServices: OpenServices,
  ): Promise<{ receiver: string; delivered: boolean; error: string | null }[]> {
    const stored = await this.require(place, name);
    const rule = JSON.parse(stored.definition) as Rule;
    const now = Date.now();
    const transitions =
      rule.metric === 'weekly'
        ? await this.readDigests(stored, rule, openServices, now)
        : [createTestTransition(stored, rule, now)];
    if (transitions.length === 0) throw new AdminError('The team has no app');
    const results = [];
    for (const message of composeMessages(transitions, config.dashboardUrl, now)) {
      const error = await send(message, config).then(
        () => null,
        (failure: unknown) => {
          if (failure instanceof NotDelivered) return failure.message;
          throw failure;
        },
      );
      const receiver = describeChannel({ kind: message.channel, target: message.target });
      results.push({ receiver, delivered: error === null, error });
    }
    return results;
  }

  private async readDigests(
    stored: StoredRule,
    rule: Rule,
    openServices: OpenServices,
    now: number,
  ): Promise<Transition[]> {
    const services = await openServices();
    try {
      const measurements = new AlertMeasurements(this.rules, services);
      const transitions = [];
      for (const { id, name } of await measurements.listApps(stored.team_id)) {
        if (stored.app_id !== 0 && stored.app_id !== id) continue;
        const digest = await measurements.readDigest(stored.team_id, id, rule, findLastDue(rule, now));
        transitions.push(createTestTransition(stored, rule, now, { id, name, digest }));
      }
      return transitions;
    } finally {
      await services.close();
    }
  }

  private async require(place: RulePlace, name: string): Promise<StoredRule> {
    const { teamId, appId } = await this.locate(place);
    const stored = (await this.rules.findRules()).find(
      (row) => row.team_id === teamId && row.app_id === appId && row.name === name && !row.deleted,
    );
    if (!stored)
      throw new AdminError(`There is no rule of this name in ${appId === 0 ? 'the team' : 'the app'}`);
    return stored;
  }

  private async locate({ app, team }: RulePlace): Promise<{ teamId: number; appId: number }> {
    if (app !== undefined) return { teamId: (await this.apps.require(app)).team_id, appId: app };
    if (team === undefined)
      throw new AdminError('Name the app with --app, or with --team all apps of a team');
    return { teamId: (await this.teams.require(team)).id, appId: 0 };
  }
}

function check<Value>(
  result: { success: true; data: Value } | { success: false; error: Parameters<typeof describeIssues>[0] },
): Value {
  if (result.success) return result.data;
  throw new AdminError(describeIssues(result.error));
}

function show({ team_id, app_id, name, source, definition, channels, muted_until }: StoredRule): ShownRule {
  const rule = JSON.parse(definition) as Rule;
  return {
    team_id,
    app_id: app_id === 0 ? 'all' : app_id,
    name,
    source,
    severity: rule.severity,
    condition: describeRule(rule),
    receivers: (JSON.parse(channels) as Channel[]).map(describeChannel).join(', '),
    muted_until: muted_until > Date.now() ? new Date(muted_until).toISOString() : null,
  };
}

/** The path and the query of a URL may be a secret. */
function describeChannel({ kind, target }: Channel): string {
  return `${kind} ${kind === 'email' ? target : new URL(target).host}`;
}
