import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { App } from '../api/apps/apps.dto.js';
import type { Channel, Rule } from '../api/alerts/rule.js';
import type { Config } from '../config/config.js';
import { type Hold, runWithLease } from '../coordination/lease.js';
import type { WriterCoordinator } from '../coordination/writer-coordinator.js';
import { runEvery } from '../shared/async/run-every.js';
import type { ClickHouse } from '../store/client/clickhouse.client.js';
import { Telemetry } from '../telemetry/telemetry.js';
import { DAY_MS, MINUTE_MS } from '../shared/time/units.js';
import { AlertStore, type StoredMessage, type StoredRule, type StoredState } from './alert-store.js';
import { AlertMeasurements, type MeasuringServices } from './measure.js';
import { type Transition, composeMessages } from './messages.js';
import { type Measured, findNextState } from './next-state.js';
import { type FileRule, readRulesFile, toStored } from './rules-file.js';
import { NotDelivered, send } from './send.js';

const TICK_MS = 5_000;
const LOCK = 'alerts';
/** The death of the process that evaluates hands over within this time and a tick. */
const HELD_MS = 30_000;
const RENEW_MS = 10_000;
/** The first pause before a message is sent again; each is twice as long as the one before. */
const RETRY_MS = 15_000;
const MAX_RETRY_MS = 60 * MINUTE_MS;
const MAX_SENDS = 16;

const keyOf = (team: number, ruleAppId: number, rule: string, appId: number) =>
  JSON.stringify([team, ruleAppId, rule, appId]);

/**
 * Evaluates the rules each minute, and sends the messages of what changed. Of all processes with the same
 * coordinator, one does so at a time; whatever it did not finish, the next one finds in the store.
 */
export class AlertRunner {
  private readonly log = new Logger('Alerts');
  private readonly owner = randomUUID();
  private readonly store: AlertStore;
  private readonly measurements: AlertMeasurements;
  private fileRules: FileRule[] | undefined;
  private isFileSaved = false;
  private timer?: NodeJS.Timeout;
  private ticking: Promise<void> = Promise.resolve();
  private readonly sending = new Map<string, Promise<void>>();
  /** Digests that are being read: their many queries do not delay the evaluation of the next minute. */
  private digesting: Promise<void> | undefined;
  private isStopped = false;
  /** End of the last window that this process evaluated. */
  private evaluatedAt = -Infinity;

  /** @throws ConfigError if the file of rules is invalid */
  constructor(
    clickhouse: ClickHouse,
    services: MeasuringServices,
    private readonly coordinator: WriterCoordinator,
    private readonly config: Config,
    private readonly telemetry = Telemetry.none,
  ) {
    this.store = new AlertStore(clickhouse);
    this.measurements = new AlertMeasurements(this.store, services);
    if (config.alerts.file !== undefined) this.fileRules = readRulesFile(config.alerts.file);
  }

  start(): void {
    this.timer = runEvery(TICK_MS, () => this.tick());
    if (this.fileRules) process.on('SIGHUP', this.reload);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    clearInterval(this.timer);
    process.off('SIGHUP', this.reload);
    await this.ticking;
    await this.settle();
    await this.coordinator.releaseLocks([LOCK], this.owner).catch(() => undefined);
  }

  /** What is due, if this process has the lease or gets it. */
  async tick(now = Date.now()): Promise<void> {
    const work = this.runIfLeader(now).catch((error: unknown) => {
      this.log.warn(error instanceof Error ? error.message : error);
    });
    this.ticking = work;
    await work;
  }

  /** The messages that are being sent, and the digests that are being read. */
  async settle(): Promise<void> {
    await Promise.all([...this.sending.values(), this.digesting]);
  }

  private readonly reload = (): void => {
    try {
      this.fileRules = readRulesFile(this.config.alerts.file ?? '');
      this.isFileSaved = false;
      this.log.log('the file of rules was read again');
    } catch (error) {
      this.log.error(`${error instanceof Error ? error.message : String(error)}; the rules before it stay`);
    }
  };

  private async runIfLeader(now: number): Promise<void> {
    const acquiredAt = performance.now();
    if (this.isStopped || !(await this.acquire())) return;
    // The lease is kept until the next tick.
    const lease = {
      acquiredAt,
      heldMs: HELD_MS,
      renew: () => this.acquire(),
      everyMs: RENEW_MS,
      release: () => Promise.resolve(),
    };
    await runWithLease(lease, async (hold) => {
      await this.saveFile(hold);
      await this.evaluate(hold, now);
      await this.deliver(hold, now);
    });
  }

  private acquire(): Promise<boolean> {
    return this.coordinator.acquireLocks([LOCK], this.owner, HELD_MS);
  }

  /** Makes the stored rules of the file those of the file. */
  private async saveFile(hold: Hold): Promise<void> {
    if (!this.fileRules || this.isFileSaved) return;
    const stored = await this.store.findRules();
    const teams = await this.store.findTeams();
    const wanted: StoredRule[] = [];
    for (const rule of this.fileRules) {
      const team = rule.app === 'all' ? rule.team : teams.get(rule.app);
      if (team === undefined || (rule.team !== undefined && rule.team !== team)) {
        this.log.error(`ALERTS_FILE: rule ${rule.name}: there is no app ${rule.app} of this team`);
        continue;
      }
      const appId = rule.app === 'all' ? 0 : rule.app;
      const before = stored.find((row) => isSame(row, { team_id: team, app_id: appId, name: rule.name }));
      if (before && !before.deleted && before.source === 'command')
        this.log.error(`ALERTS_FILE: rule ${rule.name}: a command made a rule of this name, which stays`);
      else wanted.push(toStored(team, rule, 'file', before));
    }
    const gone = stored
      .filter((row) => row.source === 'file' && !row.deleted && !wanted.some((rule) => isSame(row, rule)))
      .map((row) => ({ ...row, deleted: true }));
    const isStored = (rule: StoredRule) =>
      stored.some(
        (row) =>
          isSame(row, rule) &&
          !row.deleted &&
          row.definition === rule.definition &&
          row.channels === rule.channels,
      );
    const changed = [...wanted.filter((rule) => !isStored(rule)), ...gone];
    await hold();
    await this.store.saveRules(changed);
    this.isFileSaved = true;
  }

  /** The last closed minute, unless it is evaluated already. */
  private async evaluate(hold: Hold, now: number): Promise<void> {
    const { graceMs, dashboardUrl } = this.config.alerts;
    const at = Math.floor((now - graceMs) / MINUTE_MS) * MINUTE_MS;
    if (at <= this.evaluatedAt) return;
    const [rules, states] = await Promise.all([this.store.findRules(), this.store.findCurrentStates()]);
    const current = new Map(
      states.map((state) => [keyOf(state.team_id, state.rule_app_id, state.rule, state.app_id), state]),
    );
    const apps = new Map<number, readonly App[]>();
    const listApps = async (teamId: number) => {
      const ofTeam = apps.get(teamId) ?? (await this.measurements.listApps(teamId));
      apps.set(teamId, ofTeam);
      return ofTeam;
    };
    const due: { stored: StoredRule; rule: Rule; appId: number; before: StoredState | undefined }[] = [];
    for (const stored of rules) {
      const rule = JSON.parse(stored.definition) as Rule;
      const ids = (await listApps(stored.team_id)).map(({ id }) => id);
      for (const appId of stored.app_id === 0 ? ids : ids.filter((id) => id === stored.app_id)) {
        const before = current.get(keyOf(stored.team_id, stored.app_id, stored.name, appId));
        if (before && before.evaluated_at >= at) continue;
        // What a deleted rule fired is resolved.
        const fires = before && before.fired_at !== 0 && before.told !== 'resolved';
        if (stored.deleted && !fires) continue;
        due.push({
          stored,
          rule,
          appId,
          before: stored.deleted && before ? { ...before, results: [] } : before,
        });
      }
    }
    this.measurements.begin(due);
    const next: StoredState[] = [];
    for (const { stored, rule, appId, before } of due) {
      const measured = await this.measure(stored, rule, appId, at);
      if (measured !== undefined) next.push(findNextState(stored, rule, appId, measured, before, at));
    }
    if (next.length > 0) {
      await hold();
      await this.store.saveStates(next);
    }
    await this.compose(hold, now, rules, listApps, dashboardUrl);
    this.evaluatedAt = at;
  }

  /** Undefined if the store cannot say: the state then stays. */
  private async measure(
    stored: StoredRule,
    rule: Rule,
    appId: number,
    at: number,
  ): Promise<Measured | null | undefined> {
    if (stored.deleted) return null;
    try {
      return await this.measurements.measure(stored.team_id, appId, rule, at);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.log.warn(`rule ${stored.name} of app ${appId} cannot be evaluated: ${reason}`);
      return undefined;
    }
  }

  private async compose(
    hold: Hold,
    now: number,
    rules: readonly StoredRule[],
    listApps: (teamId: number) => Promise<readonly App[]>,
    dashboardUrl: string,
  ): Promise<void> {
    const transitions: Transition[] = [];
    for (const state of await this.store.findUntold(now)) {
      const stored = rules.find((rule) =>
        isSame(rule, { team_id: state.team_id, app_id: state.rule_app_id, name: state.rule }),
      );
      if (!stored || (stored.deleted && state.told === 'digest')) continue;
      const app = (await listApps(state.team_id)).find(({ id }) => id === state.app_id);
      transitions.push({
        state,
        rule: JSON.parse(stored.definition) as Rule,
        channels: JSON.parse(stored.channels) as Channel[],
        appName: app?.name ?? String(state.app_id),
      });
    }
    const isDigest = ({ state }: Transition) => state.told === 'digest';
    const digests = transitions.filter(isDigest);
    if (digests.length > 0)
      this.digesting ??= this.composeDigests(digests, dashboardUrl)
        .catch((error: unknown) => {
          this.log.warn(error instanceof Error ? error.message : error);
        })
        .finally(() => (this.digesting = undefined));
    const messages = composeMessages(
      transitions.filter((transition) => !isDigest(transition)),
      dashboardUrl,
      now,
    );
    if (messages.length === 0) return;
    await hold();
    await this.store.saveMessages(messages);
  }

  /** A digest that cannot be read is tried again with the next evaluation. */
  private async composeDigests(transitions: readonly Transition[], dashboardUrl: string): Promise<void> {
    const read: Transition[] = [];
    for (const transition of transitions) {
      if (this.isStopped) return;
      const { state, rule } = transition;
      try {
        const digest = await this.measurements.readDigest(state.team_id, state.app_id, rule, state.since);
        read.push({ ...transition, digest });
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        this.log.warn(`digest ${state.rule} of app ${state.app_id} cannot be read: ${reason}`);
      }
    }
    // It took long: another process may have gone on.
    if (!(await this.acquire())) return;
    const now = Date.now();
    const untold = new Set((await this.store.findUntold(now)).map(({ transition_id }) => transition_id));
    const messages = composeMessages(
      read.filter(({ state }) => untold.has(state.transition_id)),
      dashboardUrl,
      now,
    );
    if (messages.length > 0) await this.store.saveMessages(messages);
  }

  /** Begins to send what is due. A receiver gets one message at a time: a slow one delays no other. */
  private async deliver(hold: Hold, now: number): Promise<void> {
    for (const message of await this.store.findDueMessages(now)) {
      const receiver = JSON.stringify([message.channel, message.target]);
      if (this.sending.size >= MAX_SENDS) return;
      if (this.sending.has(receiver)) continue;
      await hold();
      const sent = this.sendOnce(message)
        .catch((error: unknown) => {
          this.log.warn(error instanceof Error ? error.message : error);
        })
        .finally(() => this.sending.delete(receiver));
      this.sending.set(receiver, sent);
    }
  }

  private async sendOnce(message: StoredMessage): Promise<void> {
    const attempts = message.attempts + 1;
    let result: Partial<StoredMessage> = { state: 'delivered', error: '' };
    try {
      await send(message, this.config.alerts);
    } catch (error) {
      if (!(error instanceof NotDelivered)) throw error;
      const now = Date.now();
      const next_at = now + Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** Math.min(message.attempts, 20));
      const hasFailed = next_at > message.created_at + DAY_MS;
      result = { state: hasFailed ? 'failed' : 'waiting', next_at, error: error.message };
      const text = `alert message ${message.message_id} (${message.channel}) was not delivered: ${error.message}`;
      if (hasFailed) this.log.error(`${text}; it is given up after a day`);
      else this.log.warn(text);
    }
    const saved: StoredMessage = { ...message, ...result, attempts };
    this.telemetry.metrics?.countAlertMessage(
      message.channel,
      saved.state === 'waiting' ? 'retried' : saved.state,
    );
    await this.store.saveMessages([saved]);
  }
}

function isSame(
  rule: Pick<StoredRule, 'team_id' | 'app_id' | 'name'>,
  other: Pick<StoredRule, 'team_id' | 'app_id' | 'name'>,
): boolean {
  return rule.team_id === other.team_id && rule.app_id === other.app_id && rule.name === other.name;
}
