import { Global, Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../config/config.js';
import { prepareStore } from '../ingestion/prepare-store.js';
import { Telemetry } from '../telemetry/telemetry.js';
import { AppStore } from './app-store.js';
import { ClickHouse } from './clickhouse.client.js';

/** The store, open for as long as the application lives. The embedded one is prepared when it opens. */
@Global()
@Module({
  providers: [
    AppStore,
    {
      provide: ClickHouse,
      inject: [Config, Telemetry],
      useFactory: async (config: Config, telemetry: Telemetry) => {
        const store = await ClickHouse.open(config, { telemetry });
        for (const [batch, why] of await prepareStore(store))
          new Logger(ClickHouseModule.name).error(`batch ${batch} cannot be applied: ${String(why)}`);
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
