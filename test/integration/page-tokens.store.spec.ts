import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { migrate } from '../../src/store/migrations/migrate.js';
import { Config } from '../../src/config/config.js';
import { PageTokens, type QueryFingerprint } from '../../src/platform/paging/page-tokens.js';
import { type OpenStore, openEmptyStore, openStore } from '../setup/store.js';

const FINGERPRINT: QueryFingerprint = { operation: 'traffic', teamId: 1, appId: 2, filters: [] };

describe('PageTokens without a configured secret', () => {
  const opened: OpenStore[] = [];

  afterEach(async () => {
    for (const open of opened.splice(0)) await open.remove();
  });

  const keep = (open: OpenStore) => {
    opened.push(open);
    return open;
  };
  const createTokens = async ({ store, config }: OpenStore) => {
    const tokens = new PageTokens(store, config);
    tokens.onModuleInit();
    await tokens.ensureSecret();
    return tokens;
  };

  it('share the one that the store keeps, over restarts too', async () => {
    const open = keep(await openStore());
    const token = (await createTokens(open)).sign(FINGERPRINT, { after: [7] });
    expect((await createTokens(open)).verify(token)).toMatchObject({ after: [7] });
    await open.store.close();
    open.store = await ClickHouse.open(open.config);
    await migrate(open.store);
    expect((await createTokens(open)).verify(token)).toMatchObject({ after: [7] });
  });

  it('go by the first one where two migrations at the same time stored one each', async () => {
    const open = keep(await openStore());
    const token = (await createTokens(open)).sign(FINGERPRINT, { after: [7] });
    const later = { created_at: '2100-01-01 00:00:00.000' };
    for (const value of ['0', 'z'])
      await open.store.insert('secrets_v1', [JSON.stringify({ name: 'page_token', value, ...later })]);
    expect((await createTokens(open)).verify(token)).toMatchObject({ after: [7] });
  });

  it('have another one in each store', async () => {
    const first = await openStore();
    const token = (await createTokens(first)).sign(FINGERPRINT, { after: [7] });
    await first.remove();
    const other = keep(await openEmptyStore());
    await migrate(other.store);
    expect((await createTokens(other)).verify(token)).toBeUndefined();
  });

  it('prefer the configured one', async () => {
    const { store } = keep(await openStore());
    const configured = new PageTokens(store, new Config({ TOKEN_SECRET: 'configured '.repeat(4) }));
    await configured.ensureSecret();
    const token = configured.sign(FINGERPRINT, { after: [7] });
    expect((await createTokens(opened[0]!)).verify(token)).toBeUndefined();
  });

  it('ask again when the store could not respond at the start', async () => {
    const { store, config } = keep(await openEmptyStore());
    const tokens = new PageTokens(store, config);
    tokens.onModuleInit();
    expect(() => tokens.sign(FINGERPRINT, { after: [] })).toThrow('no secret');
    await expect(tokens.ensureSecret()).rejects.toThrow();
    await migrate(store);
    await tokens.ensureSecret();
    expect(tokens.verify(tokens.sign(FINGERPRINT, { after: [7] }))).toMatchObject({ after: [7] });
  });
});
