import { Config } from '../../config/config.js';
import { createServerClient } from './server.client.js';

describe('createServerClient', () => {
  it.each(['http://user:password@localhost:1', 'http://localhost:1/database?ch_max_threads=1'])(
    'writes nothing to the console when the URL has more than an address: %s',
    async (url) => {
      const written = (['debug', 'info', 'warn', 'error'] as const).map((method) =>
        jest.spyOn(console, method).mockImplementation(),
      );
      const config = new Config({ CLICKHOUSE_URL: url, CLICKHOUSE_PASSWORD: 'of the variable' });
      await createServerClient(config, config.clickhouse.database).close();
      expect(written.flatMap(({ mock }) => mock.calls)).toEqual([]);
    },
  );
});
