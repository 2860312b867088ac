import { Logger } from '@nestjs/common';
import { createCache } from '../../shared/create-cache.js';
import { runEvery } from '../../shared/async/run-every.js';
import type { Metrics } from '../../telemetry/metrics/metrics.js';
import type { ClickHouse } from '../client/clickhouse.client.js';
import { type Damage, findDamage, locateDamage } from './damage.js';
import { listTables, readMigrations } from '../migrations/migrate.js';

interface Disk {
  name: string;
  free_space: number;
}

const CHECK_INTERVAL_MS = 60_000;
/** A replica repairs its parts by itself. So damage is dropped if no query met it for this long. */
const MET_DAMAGE_TTL_MS = 3_600_000;

/** Object storage has no free space to report. */
const DISKS = 'SELECT name, free_space FROM system.disks WHERE NOT is_remote ORDER BY name';

const ADVICE =
  'Keep a copy of the data before anything else; what to do is in docs/recover.md, "Stored data is damaged".';

/**
 * Checks the store for damage and free space at the start and then each minute, and collects damage that
 * queries find. New damage is logged and makes the service `degraded`; damage and free space are in the
 * metrics.
 */
export class StoreMonitor {
  private readonly log = new Logger(StoreMonitor.name);
  private found: readonly Damage[] = [];
  private readonly met = createCache<string, Damage>(1_000, { ttl: MET_DAMAGE_TTL_MS });
  private disks: readonly Disk[] = [];
  /** The expected tables of this version, once they are read. */
  private tables?: readonly string[];
  private hasChecked = false;
  private failure?: string;
  private timer?: NodeJS.Timeout;

  constructor(
    private readonly store: ClickHouse,
    metrics: Metrics | null,
  ) {
    const count = (isCounted: (damage: Damage) => boolean) => () =>
      this.hasChecked ? [{ value: this.damage.filter(isCounted).length }] : [];
    metrics?.gauge(
      { name: 'store_damaged_parts', help: 'Parts of tables that the engine set aside or cannot read' },
      count(({ part }) => part !== null),
    );
    metrics?.gauge(
      { name: 'store_missing_tables', help: 'Tables of the schema that the store does not have' },
      count(({ part }) => part === null),
    );
    metrics?.gauge(
      { name: 'store_free_bytes', help: 'Free bytes of the disks of the store', labels: ['disk'] },
      () => this.disks.map(({ name, free_space }) => ({ values: [name], value: free_space })),
    );
  }

  get isDamaged(): boolean {
    return this.damage.length > 0;
  }

  hasDamaged(table: string): boolean {
    return this.damage.some((damage) => damage.table === table);
  }

  private get damage(): readonly Damage[] {
    return [...this.found, ...this.met.values()];
  }

  /** Resolves after the first check; does not wait for a server, which may not be available yet. */
  async start(): Promise<void> {
    this.store.onDamage = (error) => {
      const damage = locateDamage(error);
      const key = `${damage.table} ${damage.part}`;
      if (!this.met.has(key)) this.logDamage(damage);
      this.met.set(key, damage);
    };
    const check = this.check();
    this.timer = runEvery(CHECK_INTERVAL_MS, () => this.check());
    if (this.store.kind === 'embedded') await check;
  }

  /** Never throws: if the store cannot be queried, the previous state stays. */
  async check(): Promise<void> {
    try {
      this.tables ??= listTables(await readMigrations());
      const damage = await findDamage(this.store, this.tables);
      this.disks = await this.store.rows<Disk>('store.disks', DISKS);
      this.report(damage);
      this.hasChecked = true;
      delete this.failure;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (message !== this.failure) this.log.warn(`the store cannot be checked for damage: ${message}`);
      this.failure = message;
    }
  }

  close(): void {
    clearInterval(this.timer);
  }

  private report(found: readonly Damage[]): void {
    const reported = new Set(this.found.map(describeDamage));
    for (const damage of found) if (!reported.has(describeDamage(damage))) this.logDamage(damage);
    if (found.length === 0 && this.found.length > 0)
      this.log.log('the damage that the last check found is gone');
    this.found = found;
  }

  private logDamage(damage: Damage): void {
    this.log.error(`${describeDamage(damage)}. ${ADVICE}`);
  }
}

function describeDamage({ table, part, description }: Damage): string {
  return part === null ? `table ${table} ${description}` : `table ${table}, part ${part}: ${description}`;
}
