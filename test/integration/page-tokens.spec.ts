import { ClickHouse } from '../../src/clickhouse/clickhouse.client.js';
import { migrate } from '../../src/clickhouse/migrations/migrate.js';
import { Config } from '../../src/config/config.js';
import { PageTokens, type TokenBinding } from '../../src/pagination/page-tokens.js';
import { type OpenStore, openEmptyStore, openStore } from '../setup/store.js';

const BINDING: TokenBinding = { operation: 'traffic', teamId: 1, appId: 2, filters: [] };

describe('PageTokens without a configured secret', () => {
  const opened: OpenStore[] = [];

  afterEach(async () => {
    for (const open of opened.splice(0)) await open.remove();
  });

  const keep = (open: OpenStore) => {
    opened.push(open);
    return open;
  };
  const tokensOf = async ({ store, config }: OpenStore) => {
    const tokens = new PageTokens(store, config);
    tokens.onModuleInit();
    await tokens.ready();
    return tokens;
  };

  it('share the one that the store keeps, over restarts too', async () => {
    const open = keep(await openStore());
    const token = (await tokensOf(open)).seal(BINDING, { after: [7] });
    expect((await tokensOf(open)).open(token)).toMatchObject({ after: [7] });
    await open.store.close();
    open.store = await ClickHouse.open(open.config);
    await migrate(open.store);
    expect((await tokensOf(open)).open(token)).toMatchObject({ after: [7] });
  });

  it('have another one in each store', async () => {
    const first = await openStore();
    const token = (await tokensOf(first)).seal(BINDING, { after: [7] });
    await first.remove();
    expect((await tokensOf(keep(await openStore()))).open(token)).toBeUndefined();
  });

  it('prefer the configured one', async () => {
    const { store } = keep(await openStore());
    const configured = new PageTokens(store, new Config({ TOKEN_SECRET: 'configured '.repeat(4) }));
    await configured.ready();
    const token = configured.seal(BINDING, { after: [7] });
    expect((await tokensOf(opened[0]!)).open(token)).toBeUndefined();
  });

  it('ask again when the store could not answer at the start', async () => {
    const { store, config } = keep(await openEmptyStore());
    const tokens = new PageTokens(store, config);
    tokens.onModuleInit();
    expect(() => tokens.seal(BINDING, { after: [] })).toThrow('no secret');
    await expect(tokens.ready()).rejects.toThrow();
    await migrate(store);
    await tokens.ready();
    expect(tokens.open(tokens.seal(BINDING, { after: [7] }))).toMatchObject({ after: [7] });
  });
});
