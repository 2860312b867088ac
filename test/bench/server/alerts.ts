import { AlertRunner } from '../../../src/alerts/alert-runner.js';
import { AlertStore } from '../../../src/alerts/alert-store.js';
import { createMeasuringServices } from '../../../src/alerts/measuring.module.js';
import { toStored } from '../../../src/alerts/rules-file.js';
import { PRESETS } from '../../../src/api/alerts/presets.js';
import { RULE, type RuleInput } from '../../../src/api/alerts/rule.js';
import { Config } from '../../../src/config/config.js';
import { LocalCoordinator } from '../../../src/coordination/writer-coordinator.js';
import type { ClickHouse } from '../../../src/store/client/clickhouse.client.js';
import { PinoLogger, createServerLogger } from '../../../src/telemetry/logger.js';
import { Telemetry } from '../../../src/telemetry/telemetry.js';
import { APPS, COLD_ENDPOINTS, ENVS, HOT_APP, HOT_ENDPOINTS } from '../dataset/shape.js';

const TEAM = 1;

/** Evaluates rules as a process that writes does. They have no receivers. */
export class RulesOfAlerts {
  private runner: AlertRunner | undefined;
  private readonly store: AlertStore;

  constructor(private readonly clickhouse: ClickHouse) {
    this.store = new AlertStore(clickhouse);
  }

  /**
   * Makes rules as a team has them, half of them for the largest app: presets, and limits for an endpoint,
   * for a part of the paths, and for an environment.
   */
  async create(count: number): Promise<void> {
    await this.clear();
    const endpoints = await this.clickhouse.rows<{ app_id: number; method: string; path: string }>(
      'bench.endpoints',
      'SELECT app_id, method, path FROM endpoints_v1 FINAL ORDER BY app_id, id',
    );
    const rules = Array.from({ length: count }, (_, nth) => {
      const app = nth % 2 === 0 ? HOT_APP : 2 + (Math.floor(nth / 2) % (APPS - 1));
      const ofApp = endpoints.filter(({ app_id }) => app_id === app);
      const { method = '', path = '' } =
        ofApp[Math.floor(nth / 7) % (app === HOT_APP ? HOT_ENDPOINTS : COLD_ENDPOINTS)] ?? {};
      const env = ENVS[nth % ENVS.length]?.name;
      const shapes: RuleInput[] = [
        { ...PRESETS.errors!, env, method, path },
        { ...PRESETS.latency!, env, method, path },
        { ...PRESETS.errors!, path },
        { metric: 'requests', value: 1e9, window: '5m', method, path },
        { metric: 'response_time_p99', value: 1e9, window: '1h', env, path },
        { metric: 'requests', op: 'lt', value: 0, env, path: `${path.split('/').slice(0, 2).join('/')}/*` },
        { ...Object.values(PRESETS)[Math.floor(nth / 7) % 4]!, env },
      ];
      const rule = RULE.parse(shapes[nth % shapes.length]);
      return toStored(TEAM, { app, name: `rule ${nth}`, rule, receivers: [] }, 'command');
    });
    await this.store.saveRules(rules);
  }

  /** Evaluates the window that ends at a time. */
  async evaluate(at: number): Promise<void> {
    this.runner ??= await this.open();
    await this.runner.tick(at);
    await this.runner.settle();
  }

  /** Counts the states of rules whose last window ends at a time, and those of them that have a value. */
  async countStates(at: number): Promise<{ states: number; values: number }> {
    const states = (await this.store.findCurrentStates()).filter(({ evaluated_at }) => evaluated_at === at);
    return { states: states.length, values: states.filter(({ value }) => value !== null).length };
  }

  async delete(): Promise<void> {
    await this.runner?.stop();
    await this.clear();
  }

  /** A data set that is kept has those of the last run. */
  private async clear(): Promise<void> {
    for (const table of ['alert_rules_v1', 'alert_states_v1'])
      await this.clickhouse.command(`TRUNCATE TABLE ${table}`);
  }

  private async open(): Promise<AlertRunner> {
    const config = new Config({ ...process.env, ALERT_GRACE_SECONDS: '0' });
    const resources = { config, store: this.clickhouse, telemetry: Telemetry.none };
    const services = await createMeasuringServices(
      resources,
      new PinoLogger(createServerLogger(config.logLevel, 'stdout')),
    );
    return new AlertRunner(this.clickhouse, services, new LocalCoordinator(), config);
  }
}
