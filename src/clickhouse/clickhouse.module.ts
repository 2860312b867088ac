import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../config/config.js';
import { Telemetry } from '../telemetry/telemetry.js';
import { AppStore } from './app-store.js';
import { ClickHouse } from './clickhouse.client.js';
import { migrate } from './migrate.js';

/** The store, open for as long as the application lives. The embedded one is migrated when it opens. */
@Global()
@Module({
  providers: [
    AppStore,
    {
      provide: ClickHouse,
      inject: [Config, Telemetry],
      useFactory: async (config: Config, telemetry: Telemetry) => {
        const store = await ClickHouse.open(config, { telemetry });
        if (store.kind === 'embedded') await migrate(store);
        return store;
      },
    },
  ],
  exports: [ClickHouse, AppStore],
})
export class ClickHouseModule implements OnApplicationShutdown {
  constructor(@Inject(ClickHouse) private readonly store: ClickHouse) {}

  async onApplicationShutdown() {
    await this.store.close();
  }
}
