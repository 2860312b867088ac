import { ALL_SCOPES } from '../../src/platform/http/account.js';
import { TestApp } from '../setup/app.js';
import { Tenant } from '../setup/tenant.js';

describe('with caches that others have just filled, as a service has them', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await TestApp.start({ CACHE_TTL_MS: '9000' });
  });

  afterAll(() => app.stop());

  it('returns 404 for an app that its own team reads, and its own team reads one that is not found', async () => {
    const [owner, stranger] = [await Tenant.create(app), await Tenant.create(app)];
    const sibling = await owner.sibling();
    const read = async ({ appId }: Tenant, { key }: Tenant) =>
      (await app.get(`/v1/apps/${appId}/traffic`, key)).status;
    expect(await read(owner, owner)).toBe(200);
    expect(await read(owner, stranger)).toBe(404);
    expect(await read(sibling, stranger)).toBe(404);
    expect(await read(sibling, owner)).toBe(200);
  });

  it('returns the requests of the consumer that a key is limited to, in each app', async () => {
    const first = await Tenant.create(app);
    const other = await first.sibling();
    for (const tenant of [first, other]) await tenant.write({ consumer: { identifier: 'acme' } });
    const scopes = { ...ALL_SCOPES, consumer: 'acme' };
    const { key } = await app.admin.keys.create(first.teamId, { scopes });
    for (const { appId } of [first, other]) {
      const { body } = await app.get(`/v1/apps/${appId}/request-logs`, key);
      expect(body.data).toMatchObject([{ consumer: 'acme' }]);
    }
  });
});
