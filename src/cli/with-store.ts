import { prepareStore } from '../bootstrap/prepare-store.js';
import { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { Config } from '../config/config.js';
import { openCountryDatabase } from '../ingestion/client-country.js';

/** Runs a command on the store and closes it. The embedded one is migrated first, as a server does. */
export async function withStore<Result>(command: (store: ClickHouse) => Promise<Result>): Promise<Result> {
  const config = new Config();
  if (config.countryDatabase !== undefined) openCountryDatabase(config.countryDatabase);
  const store = await ClickHouse.open(config);
  try {
    await prepareStore(store);
    return await command(store);
  } finally {
    await store.close();
  }
}
