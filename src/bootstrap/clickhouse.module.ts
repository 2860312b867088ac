import {
  Global,
  Inject,
  Logger,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { StoreMonitor } from '../clickhouse/store-monitor.js';
import { Config } from '../config/config.js';
import { Telemetry } from '../observability/telemetry.js';
import { type PreparedStore, prepareStore } from './prepare-store.js';

const PREPARED = Symbol('PreparedStore');

/** Opens the store and closes it with the application. The embedded store is migrated on opening. */
@Global()
@Module({
  providers: [
    {
      provide: PREPARED,
      inject: [Config, Telemetry],
      useFactory: async (
        config: Config,
        telemetry: Telemetry,
      ): Promise<PreparedStore & { store: ClickHouse }> => {
        const store = await ClickHouse.open(config, { telemetry });
        return { store, ...(await prepareStore(store)) };
      },
    },
    { provide: ClickHouse, inject: [PREPARED], useFactory: ({ store }: { store: ClickHouse }) => store },
    {
      provide: StoreMonitor,
      inject: [ClickHouse, Telemetry],
      useFactory: (store: ClickHouse, { metrics }: Telemetry) => new StoreMonitor(store, metrics),
    },
  ],
  exports: [ClickHouse, StoreMonitor],
})
export class ClickHouseModule implements OnModuleInit, OnApplicationShutdown {
  private readonly log = new Logger(ClickHouseModule.name);

  constructor(
    @Inject(ClickHouse) private readonly store: ClickHouse,
    @Inject(PREPARED) private readonly prepared: PreparedStore,
    @Inject(StoreMonitor) private readonly monitor: StoreMonitor,
    @Inject(Config) private readonly config: Config,
  ) {}

  /** Not earlier: the framework does not log while it creates providers. */
  async onModuleInit() {
    if (this.prepared.isNew) this.log.log(`created a new, empty store in ${this.config.dataDir}`);
    for (const problem of this.prepared.problems) this.log.error(problem);
    await this.monitor.start();
  }

  async onApplicationShutdown() {
    this.monitor.close();
    await this.store.close();
  }
}
