import {
  Global,
  Inject,
  Logger,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ClickHouse } from '../store/client/clickhouse.client.js';
import { StoreMonitor } from '../store/health/store-monitor.js';
import { LocalCoordinator } from '../coordination/writer-coordinator.js';
import { Config } from '../config/config.js';
import { Telemetry } from '../telemetry/telemetry.js';
import { type ServerStore, openServerStore } from './prepare-store.js';

const SERVER_STORE = Symbol('ServerStore');

/** Opens the store and closes it with the application. The embedded store is migrated on opening. */
@Global()
@Module({
  providers: [
    {
      provide: SERVER_STORE,
      inject: [Config, Telemetry],
      useFactory: openServerStore,
    },
    { provide: ClickHouse, inject: [SERVER_STORE], useFactory: ({ store }: ServerStore) => store },
    {
      provide: LocalCoordinator,
      inject: [SERVER_STORE],
      useFactory: ({ coordinator }: ServerStore) => coordinator,
    },
    {
      provide: StoreMonitor,
      inject: [ClickHouse, Telemetry],
      useFactory: (store: ClickHouse, { metrics }: Telemetry) => new StoreMonitor(store, metrics),
    },
  ],
  exports: [ClickHouse, LocalCoordinator, StoreMonitor],
})
export class ClickHouseModule implements OnModuleInit, OnApplicationShutdown {
  private readonly log = new Logger(ClickHouseModule.name);

  constructor(
    @Inject(SERVER_STORE) private readonly serverStore: ServerStore,
    @Inject(StoreMonitor) private readonly monitor: StoreMonitor,
    @Inject(Config) private readonly config: Config,
  ) {}

  /** Not earlier: the framework does not log while it creates providers. */
  async onModuleInit() {
    if (this.serverStore.isNew) this.log.log(`created a new, empty store in ${this.config.dataDir}`);
    for (const problem of this.serverStore.problems) this.log.error(problem);
    await this.monitor.start();
  }

  async onApplicationShutdown() {
    this.monitor.close();
    await this.serverStore.close();
  }
}
