import { AdminError } from '../../src/ops/admin/admin.error.js';
import { type Admin, createAdmin } from '../../src/ops/admin/admin.js';
import { ApiKeyRepository } from '../../src/access/keys/api-key.repository.js';
import { hashApiKey } from '../../src/access/keys/api-key.js';
import { ALL_SCOPES } from '../../src/platform/http/account.js';
import { LocalCoordinator } from '../../src/coordination/writer-coordinator.js';
import { DEFAULT_LIMITS } from '../../src/config/name-limits.js';
import { NameLimitsLookup } from '../../src/records/names/name-limits.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { buildRequest } from '../factories/request.factory.js';
import { type OpenStore, openStore } from '../setup/store.js';

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;
const UTC_MILLISECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UNKNOWN_ID = 1_999_999_999;

describe('Administration', () => {
  let open: OpenStore;
  let admin: Admin;

  beforeAll(async () => {
    open = await openStore();
    admin = createAdmin(open.store);
  });

  afterAll(() => open.remove());

  const createTeamId = async () => (await admin.teams.create('Acme', 'premium')).id;
  const createAppId = async () => (await admin.apps.create(await createTeamId(), 'Shop', 'express')).id;
  /** Everything in a table, as text: to look for what must not be there. */
  const dump = async (table: string) =>
    JSON.stringify(await open.store.rows('test.dump', `SELECT * FROM ${table}`));

  describe('teams', () => {
    it('get ascending IDs, and are listed by them', async () => {
      const first = await admin.teams.create('Zeta', 'premium');
      const second = await admin.teams.create('Alpha', 'free');
      expect([first, second]).toEqual([
        { id: first.id, name: 'Zeta', plan: 'premium' },
        { id: first.id + 1, name: 'Alpha', plan: 'free' },
      ]);
      expect((await admin.teams.list()).slice(-2)).toEqual([first, second]);
    });

    it('may share a name', async () => {
      const [first, second] = [
        await admin.teams.create('Same', 'free'),
        await admin.teams.create('Same', 'free'),
      ];
      expect(first.id).not.toBe(second.id);
    });

    it('get IDs of their own where many are made at once', async () => {
      const teams = await Promise.all(Array.from({ length: 8 }, () => admin.teams.create('Many', 'free')));
      expect(new Set(teams.map(({ id }) => id)).size).toBe(8);
    });

    it.each(['', ' ', '\t\n'])('need a name: %j', async (name) => {
      await expect(admin.teams.create(name, 'free')).rejects.toThrow(AdminError);
    });
  });

  describe('apps', () => {
    it('are the App object of the API, with a client ID of their own', async () => {
      const teamId = await createTeamId();
      const app = await admin.apps.create(teamId, 'Shop', 'fastapi');
      expect(app).toEqual({
        id: app.id,
        name: 'Shop',
        framework: 'fastapi',
        client_id: expect.stringMatching(UUID) as string,
        envs: [],
        created_at: expect.stringMatching(UTC_MILLISECONDS) as string,
      });
      expect(Object.keys(app)).toEqual(['id', 'name', 'framework', 'client_id', 'envs', 'created_at']);
      const other = await admin.apps.create(teamId, 'Shop', 'fastapi');
      expect(other.client_id).not.toBe(app.client_id);
      expect(await admin.teams.listApps(teamId)).toEqual([app, other]);
    });

    it('are listed for their own team alone', async () => {
      const [teamId, otherId] = [await createTeamId(), await createTeamId()];
      await admin.apps.create(teamId, 'Shop', 'express');
      expect(await admin.teams.listApps(otherId)).toEqual([]);
    });

    it('need a team that is there, and a name', async () => {
      await expect(admin.apps.create(UNKNOWN_ID, 'Shop', 'express')).rejects.toThrow(
        `There is no team ${UNKNOWN_ID}`,
      );
      await expect(admin.teams.listApps(UNKNOWN_ID)).rejects.toThrow(AdminError);
      await expect(admin.apps.create(await createTeamId(), ' ', 'express')).rejects.toThrow(AdminError);
      await expect(admin.apps.require(UNKNOWN_ID)).rejects.toThrow(`There is no app ${UNKNOWN_ID}`);
    });

    it('have environments when data has arrived', async () => {
      const appId = await createAppId();
      expect(await admin.apps.listEnvironments(appId)).toEqual([]);
      await RequestsWriter.create(open.store).write(appId, [buildRequest({ env: 'prod' })]);
      expect(await admin.apps.listEnvironments(appId)).toMatchObject([{ name: 'prod' }]);
      await expect(admin.apps.listEnvironments(UNKNOWN_ID)).rejects.toThrow(AdminError);
    });
  });

  describe('keys', () => {
    it('are shown once: the store holds the identifier and a hash, and never the key', async () => {
      const { key, identifier } = await admin.keys.create(await createTeamId(), { name: 'CI' });
      expect(key).toMatch(/^[A-Za-z0-9]{7}\.[A-Za-z0-9]{32}$/);
      expect(key.startsWith(`${identifier}.`)).toBe(true);
      const stored = await dump('api_keys_v1');
      expect(stored).toContain(identifier);
      expect(stored).toContain(hashApiKey(key));
      expect(stored).not.toContain(key.split('.')[1]);
    });

    it('are listed without secrets, with their expiry and revocation', async () => {
      const teamId = await createTeamId();
      const expiresAt = Date.parse('2031-02-03T04:05:06.789Z');
      const { key, identifier } = await admin.keys.create(teamId, { name: 'CI', expiresAt });
      const [row] = await admin.keys.list(teamId);
      expect(row).toEqual({
        identifier,
        team_id: teamId,
        name: 'CI',
        created_at: expect.stringMatching(UTC_MILLISECONDS) as string,
        expires_at: '2031-02-03T04:05:06.789Z',
        revoked_at: null,
        app_ids: [],
        operations: [],
        has_bodies: true,
        consumer: null,
        requests_per_minute: null,
      });
      expect(JSON.stringify(row)).not.toContain(key.split('.')[1]);
    });

    it('are revoked for good, and the first time counts', async () => {
      const teamId = await createTeamId();
      const { identifier } = await admin.keys.create(teamId);
      const other = await admin.keys.create(teamId);
      expect(await admin.keys.revoke(identifier)).toEqual({ identifier, revoked: true });
      const revoked = async () =>
        Object.fromEntries((await admin.keys.list(teamId)).map((row) => [row.identifier, row.revoked_at]));
      const first = await revoked();
      expect(first[identifier]).toMatch(UTC_MILLISECONDS);
      expect(first[other.identifier]).toBeNull();
      await admin.keys.revoke(identifier);
      expect(await revoked()).toEqual(first);
    });

    it('may be given, in the right form and not twice', async () => {
      const teamId = await createTeamId();
      const key = `Given01.${'k'.repeat(32)}`;
      expect(await admin.keys.create(teamId, { key })).toEqual({ key, identifier: 'Given01' });
      const twin = { key: `Given01.${'x'.repeat(32)}` };
      await expect(admin.keys.create(teamId, twin)).rejects.toThrow('There is a key Given01 already');
      await expect(admin.keys.create(teamId, { key: 'short.key' })).rejects.toThrow(AdminError);
    });

    it('need a team that is there, and can only be revoked when they are', async () => {
      await expect(admin.keys.create(UNKNOWN_ID)).rejects.toThrow(`There is no team ${UNKNOWN_ID}`);
      await expect(admin.keys.list(UNKNOWN_ID)).rejects.toThrow(AdminError);
      await expect(admin.keys.revoke("x' OR '1")).rejects.toThrow(AdminError);
    });
  });

  describe('write tokens', () => {
    it('are shown once: the store holds the identifier and a hash, and never the token', async () => {
      const appId = await createAppId();
      const { token, identifier } = await admin.writeTokens.create(appId, { name: 'collector' });
      expect(token).toMatch(/^apt_[A-Za-z0-9]{24}$/);
      expect(token.slice(4, 12)).toBe(identifier);
      expect(await admin.writeTokens.list(appId)).toEqual([
        {
          identifier,
          app_id: appId,
          name: 'collector',
          created_at: expect.stringMatching(UTC_MILLISECONDS) as string,
          revoked_at: null,
        },
      ]);
      const stored = await dump('write_tokens_v1');
      expect(stored).toContain(hashApiKey(token));
      expect(stored).not.toContain(token.slice(12));
    });

    it('are revoked for good, and the first time counts', async () => {
      const appId = await createAppId();
      const { identifier } = await admin.writeTokens.create(appId);
      const other = await admin.writeTokens.create(appId);
      const revoked = async () =>
        Object.fromEntries(
          (await admin.writeTokens.list(appId)).map((row) => [row.identifier, row.revoked_at]),
        );
      expect(await admin.writeTokens.revoke(appId, identifier)).toEqual({
        identifier,
        app_id: appId,
        revoked: true,
      });
      const first = await revoked();
      expect(first[identifier]).toMatch(UTC_MILLISECONDS);
      expect(first[other.identifier]).toBeNull();
      await admin.writeTokens.revoke(appId, identifier);
      expect(await revoked()).toEqual(first);
    });

    it('may be given, in the right form and not twice', async () => {
      const appId = await createAppId();
      const token = `apt_Given123${'s'.repeat(16)}`;
      expect(await admin.writeTokens.create(appId, { token })).toEqual({ token, identifier: 'Given123' });
      await expect(admin.writeTokens.create(appId, { token })).rejects.toThrow('exists already');
      await expect(admin.writeTokens.create(appId, { token: `${token}s` })).rejects.toThrow(
        '24 letters or digits',
      );
    });

    it('are revoked by their own app alone', async () => {
      const [appId, otherId] = [await createAppId(), await createAppId()];
      const { identifier } = await admin.writeTokens.create(appId);
      await expect(admin.writeTokens.revoke(otherId, identifier)).rejects.toThrow('no write token');
      await expect(admin.writeTokens.revoke(appId, 'unknown1')).rejects.toThrow('no write token');
      expect(await admin.writeTokens.list(appId)).toMatchObject([{ identifier, revoked_at: null }]);
    });
  });

  describe('expected errors of endpoints', () => {
    const expected = (appId: number) =>
      open.store.rows(
        'test.expected',
        `SELECT endpoint_id, status_code FROM endpoint_expected_errors_v1 FINAL
         WHERE app_id = {app_id:UInt32} AND marked ORDER BY status_code`,
        { app_id: appId },
      );
    const writeEndpoint = async () => {
      const appId = await createAppId();
      await RequestsWriter.create(open.store).write(appId, [buildRequest({ method: 'GET', path: '/a' })]);
      return appId;
    };

    it('are set and removed, status by status', async () => {
      const appId = await writeEndpoint();
      const marked = await admin.endpoints.setExpectedError(appId, 'get', '/a', 404, true);
      expect(marked).toEqual({ id: marked.id, method: 'GET', path: '/a', status_code: 404, expected: true });
      await admin.endpoints.setExpectedError(appId, 'GET', '/a', 404, true);
      await admin.endpoints.setExpectedError(appId, 'GET', '/a', 409, true);
      const rows = [404, 409].map((status_code) => ({ endpoint_id: marked.id, status_code }));
      expect(await expected(appId)).toEqual(rows);
      await admin.endpoints.setExpectedError(appId, 'GET', '/a', 404, false);
      expect(await expected(appId)).toEqual(rows.slice(1));
    });

    it('need an endpoint that is there, in that app', async () => {
      const [appId, otherId] = [await writeEndpoint(), await createAppId()];
      await expect(admin.endpoints.setExpectedError(otherId, 'GET', '/a', 404, true)).rejects.toThrow(
        AdminError,
      );
      await expect(admin.endpoints.setExpectedError(appId, 'GET', '/b', 404, true)).rejects.toThrow(
        AdminError,
      );
    });

    it.each([200, 399, 600, 404.5, NaN])('cannot have the status %d', async (status) => {
      const appId = await writeEndpoint();
      await expect(admin.endpoints.setExpectedError(appId, 'GET', '/a', status, true)).rejects.toThrow(
        AdminError,
      );
    });
  });

  describe('marks of endpoints', () => {
    const marks = (appId: number) =>
      open.store.rows<{ id: number; method: string; path: string; excluded: boolean }>(
        'test.marks',
        'SELECT id, method, path, excluded FROM endpoints_v1 FINAL WHERE app_id = {app_id:UInt32} ORDER BY id',
        { app_id: appId },
      );

    it('are set and removed on that one endpoint, which stays what it was', async () => {
      const appId = await createAppId();
      await RequestsWriter.create(open.store).write(appId, [
        buildRequest({ method: 'GET', path: '/a' }),
        buildRequest({ method: 'POST', path: '/a' }),
      ]);
      const before = await marks(appId);
      expect(before.map(({ excluded }) => excluded)).toEqual([false, false]);
      const marked = await admin.endpoints.setExcluded(appId, 'get', '/a', true);
      expect(marked).toEqual({ ...before[0], excluded: true });
      expect(await marks(appId)).toEqual([marked, before[1]]);
      expect(await admin.endpoints.setExcluded(appId, 'GET', '/a', false)).toEqual(before[0]);
      expect(await marks(appId)).toEqual(before);
    });

    it('need an endpoint that is there, in that app', async () => {
      const [appId, otherId] = [await createAppId(), await createAppId()];
      await RequestsWriter.create(open.store).write(otherId, [buildRequest({ path: '/a' })]);
      await expect(admin.endpoints.setExcluded(appId, 'get', '/a', true)).rejects.toThrow(
        `App ${appId} has no endpoint GET /a`,
      );
      await expect(admin.endpoints.setExcluded(UNKNOWN_ID, 'GET', '/a', true)).rejects.toThrow(AdminError);
      await expect(admin.endpoints.setExcluded(otherId, 'GET', '/*', true)).rejects.toThrow(AdminError);
    });
  });

  describe('names', () => {
    it('are changed, and nothing else', async () => {
      const team = await admin.teams.create('Old', 'free');
      expect(await admin.teams.rename(team.id, 'New')).toEqual({ ...team, name: 'New' });
      expect(await admin.teams.list()).toContainEqual({ ...team, name: 'New' });

      const app = await admin.apps.create(team.id, 'Old', 'express');
      await admin.apps.setDisabled(app.id, true);
      expect(await admin.apps.rename(app.id, 'New')).toEqual({ id: app.id, name: 'New' });
      expect(await admin.teams.listApps(team.id)).toEqual([Object.assign({}, app, { name: 'New' })]);
      expect(await dump(`apps_v1 FINAL WHERE id = ${app.id} AND disabled`)).toContain('"New"');

      const { identifier } = await admin.keys.create(team.id, {
        name: 'old',
        expiresAt: Date.now() + 60_000,
      });
      const [key] = await admin.keys.list(team.id);
      await admin.keys.rename(identifier, 'new');
      expect(await admin.keys.list(team.id)).toEqual([{ ...key, name: 'new' }]);
    });

    it('of teams and apps are not empty, and none is of what does not exist', async () => {
      const appId = await createAppId();
      for (const change of [
        () => admin.apps.rename(appId, ' '),
        () => admin.apps.rename(UNKNOWN_ID, 'a'),
        () => admin.teams.rename(UNKNOWN_ID, 'a'),
        () => admin.keys.rename('zzzzzzz', 'a'),
      ])
        await expect(change()).rejects.toThrow(AdminError);
    });
  });

  describe('changes at the same time', () => {
    /** Often enough: every second pair undid one another before there were versions of several kinds. */
    const ROUNDS = 6;
    let teamId: number;

    beforeAll(async () => {
      teamId = await createTeamId();
    });

    it('never undo the revocation of a key', async () => {
      for (let n = 0; n < ROUNDS; n++) {
        const { identifier } = await admin.keys.create(teamId);
        await Promise.all([
          admin.keys.rename(identifier, 'renamed'),
          admin.keys.revoke(identifier),
          admin.keys.setScopes(identifier, { ...ALL_SCOPES, hasBodies: false }),
          admin.keys.rename(identifier, 'renamed again'),
        ]);
        await admin.keys.setScopes(identifier, { ...ALL_SCOPES, operations: ['listApps'] });
        await admin.keys.rename(identifier, 'last');
        const key = (await admin.keys.list(teamId)).find((row) => row.identifier === identifier);
        expect(key).toMatchObject({
          revoked_at: expect.any(String) as string,
          name: 'last',
          operations: ['listApps'],
        });
      }
    });

    it('never bring back a key that is deleted', async () => {
      for (let n = 0; n < ROUNDS; n++) {
        const { identifier } = await admin.keys.create(teamId);
        // A change that comes too late finds no key.
        await Promise.all([
          admin.keys.delete(identifier),
          admin.keys.rename(identifier, 'renamed').catch(() => undefined),
          admin.keys.setScopes(identifier, { ...ALL_SCOPES, hasBodies: false }).catch(() => undefined),
        ]);
        const key = (await admin.keys.list(teamId)).find((row) => row.identifier === identifier);
        // A row that is inserted behind the deletion is one of a revoked key.
        if (key) expect(key.revoked_at).not.toBeNull();
      }
    });

    it('of the limits of an app are all kept', async () => {
      const appId = await createAppId();
      const other = createAdmin(open.store);
      for (let n = 1; n <= ROUNDS; n++) {
        const limits = { endpoints: n, consumers: 10 + n, consumer_groups: 20 + n, environments: 30 + n };
        const { endpoints, ...others } = limits;
        await Promise.all([
          admin.apps.setNameLimits(appId, { endpoints }),
          ...Object.entries(others).map(([kind, limit]) =>
            other.apps.setNameLimits(appId, { [kind]: limit }),
          ),
        ]);
        expect(await admin.apps.setNameLimits(appId, {})).toEqual(limits);
        expect(await new NameLimitsLookup(open.store, DEFAULT_LIMITS).find(appId)).toEqual({
          endpoints,
          consumers: 10 + n,
          consumerGroups: 20 + n,
          environments: 30 + n,
        });
      }
    });

    it('of one row are all kept, also those of different commands', async () => {
      // As commands that reach the store through one server.
      const coordinator = new LocalCoordinator();
      const [first, second] = [createAdmin(open.store, coordinator), createAdmin(open.store, coordinator)];
      const appId = await createAppId();
      await RequestsWriter.create(open.store).write(appId, [buildRequest({ method: 'GET', path: '/a' })]);
      const { identifier } = await admin.keys.create(teamId);
      for (let n = 0; n < ROUNDS; n++) {
        const isOdd = n % 2 === 1;
        const [{ client_id }] = await Promise.all([
          first.apps.rotateClientId(appId),
          second.apps.setDisabled(appId, isOdd),
          first.apps.rename(appId, `Shop ${n}`),
          second.keys.setScopes(identifier, { ...ALL_SCOPES, hasBodies: isOdd }),
          first.keys.rename(identifier, `key ${n}`),
          second.teams.setPlan(teamId, isOdd ? 'free' : 'premium'),
          first.teams.rename(teamId, `Team ${n}`),
          second.endpoints.setExcluded(appId, 'GET', '/a', isOdd),
        ]);
        const rows = async (table: string, where: string, columns: string) =>
          (await open.store.rows('test.row', `SELECT ${columns} FROM ${table} FINAL WHERE ${where}`))[0];
        expect([
          await rows('apps_v1', `id = ${appId}`, 'client_id, disabled, name'),
          await rows('api_keys_v1', `identifier = '${identifier}'`, 'has_bodies, name'),
          await rows('teams_v1', `id = ${teamId}`, 'plan, name'),
          await rows('endpoints_v1', `app_id = ${appId}`, 'excluded, method, path'),
        ]).toEqual([
          { client_id, disabled: isOdd, name: `Shop ${n}` },
          { has_bodies: isOdd, name: `key ${n}` },
          { plan: isOdd ? 'free' : 'premium', name: `Team ${n}` },
          { excluded: isOdd, method: 'GET', path: '/a' },
        ]);
      }
    });

    it('of a name undo neither a client ID, nor that an app is disabled, nor scopes, nor a plan', async () => {
      for (let n = 0; n < ROUNDS; n++) {
        const { id } = await admin.apps.create(teamId, 'Shop', 'express');
        const [{ client_id }] = await Promise.all([
          admin.apps.rotateClientId(id),
          admin.apps.rename(id, 'Renamed'),
        ]);
        expect((await admin.teams.listApps(teamId)).find((app) => app.id === id)).toMatchObject({
          client_id,
        });

        await Promise.all([admin.apps.setDisabled(id, true), admin.apps.rename(id, 'Renamed again')]);
        expect(await dump(`apps_v1 FINAL WHERE id = ${id} AND disabled`)).toContain(client_id);

        const { identifier } = await admin.keys.create(teamId);
        const scopes = { ...ALL_SCOPES, hasBodies: false };
        await Promise.all([
          admin.keys.setScopes(identifier, scopes),
          admin.keys.rename(identifier, 'renamed'),
        ]);
        expect((await admin.keys.list(teamId)).find((key) => key.identifier === identifier)).toMatchObject({
          has_bodies: false,
        });

        const plan = n % 2 === 0 ? 'free' : 'premium';
        await Promise.all([admin.teams.setPlan(teamId, plan), admin.teams.rename(teamId, `Acme ${n}`)]);
        expect((await admin.teams.list()).find((team) => team.id === teamId)).toMatchObject({ plan });
      }
    });
  });

  describe('deletion', () => {
    const keyFor = (identifier: string) =>
      new ApiKeyRepository(open.store, open.config).lookup.find(identifier);

    it('of a key leaves no row of it, and its team the others', async () => {
      const teamId = await createTeamId();
      const [deleted, kept] = [await admin.keys.create(teamId), await admin.keys.create(teamId)];
      // Two versions of the row.
      await admin.keys.rename(deleted.identifier, 'x');
      expect(await admin.keys.delete(deleted.identifier)).toEqual({
        identifier: deleted.identifier,
        deleted: true,
      });
      expect(await dump('api_keys_v1')).not.toContain(deleted.identifier);
      expect(await keyFor(deleted.identifier)).toBeNull();
      expect((await admin.keys.list(teamId)).map(({ identifier }) => identifier)).toEqual([kept.identifier]);
      await expect(admin.keys.delete(deleted.identifier)).rejects.toThrow(AdminError);
    });

    it('of a team takes its keys along, and its ID is not used again', async () => {
      const [teamId, otherId] = [await createTeamId(), await createTeamId()];
      const other = await admin.keys.create(otherId);
      const { identifier } = await admin.keys.create(teamId);
      expect(await admin.teams.delete(teamId)).toEqual({ id: teamId, deleted: true });
      expect(await dump('api_keys_v1')).not.toContain(identifier);
      expect((await admin.teams.list()).map(({ id }) => id)).not.toContain(teamId);
      expect(await keyFor(other.identifier)).toMatchObject({ team_id: otherId });
      await admin.teams.delete(otherId);
      expect(await createTeamId()).toBe(otherId + 1);
      await expect(admin.teams.delete(teamId)).rejects.toThrow(AdminError);
    });

    it('of a team with apps is refused, and changes nothing', async () => {
      const teamId = await createTeamId();
      const app = await admin.apps.create(teamId, 'Shop', 'express');
      const { identifier } = await admin.keys.create(teamId);
      await expect(admin.teams.delete(teamId)).rejects.toThrow(
        `Team ${teamId} has apps, which must be deleted first: ${app.id}`,
      );
      expect(await keyFor(identifier)).toMatchObject({ team_id: teamId });
    });
  });
});
