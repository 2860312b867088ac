import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { AdminError, AdminService } from '../../src/admin/admin.service.js';
import { ApiKeyRepository } from '../../src/auth/api-key.repository.js';
import { hashApiKey } from '../../src/auth/api-key.js';
import { ALL_SCOPES } from '../../src/common/account.js';
import { LocalCoordinator } from '../../src/common/writer-coordinator.js';
import { BatchLog, formatBatchTime } from '../../src/ingestion/batch-log.js';
import { RequestsWriter } from '../../src/ingestion/requests.writer.js';
import { buildRequest } from '../factories/request.factory.js';
import { type OpenStore, openStore } from '../setup/store.js';

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;
const UTC_MILLISECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UNKNOWN_ID = 1_999_999_999;

describe('AdminService', () => {
  let open: OpenStore;
  let admin: AdminService;

  beforeAll(async () => {
    open = await openStore();
    admin = new AdminService(open.store);
  });

  afterAll(() => open.remove());

  const createTeamId = async () => (await admin.createTeam('Acme', 'premium')).id;
  const createAppId = async () => (await admin.createApp(await createTeamId(), 'Shop', 'express')).id;
  /** Everything in a table, as text: to look for what must not be there. */
  const dump = async (table: string) =>
    JSON.stringify(await open.store.rows('test.dump', `SELECT * FROM ${table}`));

  describe('teams', () => {
    it('get ascending IDs, and are listed by them', async () => {
      const first = await admin.createTeam('Zeta', 'premium');
      const second = await admin.createTeam('Alpha', 'free');
      expect([first, second]).toEqual([
        { id: first.id, name: 'Zeta', plan: 'premium' },
        { id: first.id + 1, name: 'Alpha', plan: 'free' },
      ]);
      expect((await admin.listTeams()).slice(-2)).toEqual([first, second]);
    });

    it('may share a name', async () => {
      const [one, other] = [await admin.createTeam('Same', 'free'), await admin.createTeam('Same', 'free')];
      expect(one.id).not.toBe(other.id);
    });

    it('get IDs of their own where many are made at once', async () => {
      const teams = await Promise.all(Array.from({ length: 8 }, () => admin.createTeam('Many', 'free')));
      expect(new Set(teams.map(({ id }) => id)).size).toBe(8);
    });

    it.each(['', ' ', '\t\n'])('need a name: %j', async (name) => {
      await expect(admin.createTeam(name, 'free')).rejects.toThrow(AdminError);
    });
  });

  describe('apps', () => {
    it('are the App object of the API, with a client ID of their own', async () => {
      const teamId = await createTeamId();
      const app = await admin.createApp(teamId, 'Shop', 'fastapi');
      expect(app).toEqual({
        id: app.id,
        name: 'Shop',
        framework: 'fastapi',
        client_id: expect.stringMatching(UUID) as string,
        envs: [],
        created_at: expect.stringMatching(UTC_MILLISECONDS) as string,
      });
      expect(Object.keys(app)).toEqual(['id', 'name', 'framework', 'client_id', 'envs', 'created_at']);
      const other = await admin.createApp(teamId, 'Shop', 'fastapi');
      expect(other.client_id).not.toBe(app.client_id);
      expect(await admin.listApps(teamId)).toEqual([app, other]);
    });

    it('are listed for their own team alone', async () => {
      const [teamId, otherId] = [await createTeamId(), await createTeamId()];
      await admin.createApp(teamId, 'Shop', 'express');
      expect(await admin.listApps(otherId)).toEqual([]);
    });

    it('need a team that is there, and a name', async () => {
      await expect(admin.createApp(UNKNOWN_ID, 'Shop', 'express')).rejects.toThrow(
        `There is no team ${UNKNOWN_ID}`,
      );
      await expect(admin.listApps(UNKNOWN_ID)).rejects.toThrow(AdminError);
      await expect(admin.createApp(await createTeamId(), ' ', 'express')).rejects.toThrow(AdminError);
      await expect(admin.requireApp(UNKNOWN_ID)).rejects.toThrow(`There is no app ${UNKNOWN_ID}`);
    });
  });

  describe('keys', () => {
    it('are shown once: the store holds the identifier and a hash, and never the key', async () => {
      const { key, identifier } = await admin.createKey(await createTeamId(), { name: 'CI' });
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
      const { key, identifier } = await admin.createKey(teamId, { name: 'CI', expiresAt });
      const [row] = await admin.listKeys(teamId);
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
      const { identifier } = await admin.createKey(teamId);
      const other = await admin.createKey(teamId);
      expect(await admin.revokeKey(identifier)).toEqual({ identifier, revoked: true });
      const revoked = async () =>
        Object.fromEntries((await admin.listKeys(teamId)).map((row) => [row.identifier, row.revoked_at]));
      const first = await revoked();
      expect(first[identifier]).toMatch(UTC_MILLISECONDS);
      expect(first[other.identifier]).toBeNull();
      await admin.revokeKey(identifier);
      expect(await revoked()).toEqual(first);
    });

    it('may be given, in the right form and not twice', async () => {
      const teamId = await createTeamId();
      const key = `Given01.${'k'.repeat(32)}`;
      expect(await admin.createKey(teamId, { key })).toEqual({ key, identifier: 'Given01' });
      const twin = { key: `Given01.${'x'.repeat(32)}` };
      await expect(admin.createKey(teamId, twin)).rejects.toThrow('There is a key Given01 already');
      await expect(admin.createKey(teamId, { key: 'short.key' })).rejects.toThrow(AdminError);
    });

    it('need a team that is there, and can only be revoked when they are', async () => {
      await expect(admin.createKey(UNKNOWN_ID)).rejects.toThrow(`There is no team ${UNKNOWN_ID}`);
      await expect(admin.listKeys(UNKNOWN_ID)).rejects.toThrow(AdminError);
      await expect(admin.revokeKey("x' OR '1")).rejects.toThrow(AdminError);
    });
  });

  describe('write tokens', () => {
    it('are shown once: the store holds the identifier and a hash, and never the token', async () => {
      const appId = await createAppId();
      const { token, identifier } = await admin.createWriteToken(appId, { name: 'collector' });
      expect(token).toMatch(/^apt_[A-Za-z0-9]{24}$/);
      expect(token.slice(4, 12)).toBe(identifier);
      expect(await admin.listWriteTokens(appId)).toEqual([
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
      const { identifier } = await admin.createWriteToken(appId);
      const other = await admin.createWriteToken(appId);
      const revoked = async () =>
        Object.fromEntries(
          (await admin.listWriteTokens(appId)).map((row) => [row.identifier, row.revoked_at]),
        );
      expect(await admin.revokeWriteToken(appId, identifier)).toEqual({
        identifier,
        app_id: appId,
        revoked: true,
      });
      const first = await revoked();
      expect(first[identifier]).toMatch(UTC_MILLISECONDS);
      expect(first[other.identifier]).toBeNull();
      await admin.revokeWriteToken(appId, identifier);
      expect(await revoked()).toEqual(first);
    });

    it('may be given, in the right form and not twice', async () => {
      const appId = await createAppId();
      const token = `apt_Given123${'s'.repeat(16)}`;
      expect(await admin.createWriteToken(appId, { token })).toEqual({ token, identifier: 'Given123' });
      await expect(admin.createWriteToken(appId, { token })).rejects.toThrow('exists already');
      await expect(admin.createWriteToken(appId, { token: `${token}s` })).rejects.toThrow(
        '24 letters or digits',
      );
    });

    it('are revoked by their own app alone', async () => {
      const [appId, otherId] = [await createAppId(), await createAppId()];
      const { identifier } = await admin.createWriteToken(appId);
      await expect(admin.revokeWriteToken(otherId, identifier)).rejects.toThrow('no write token');
      await expect(admin.revokeWriteToken(appId, 'unknown1')).rejects.toThrow('no write token');
      expect(await admin.listWriteTokens(appId)).toMatchObject([{ identifier, revoked_at: null }]);
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
      const marked = await admin.setExpectedError(appId, 'get', '/a', 404, true);
      expect(marked).toEqual({ id: marked.id, method: 'GET', path: '/a', status_code: 404, expected: true });
      await admin.setExpectedError(appId, 'GET', '/a', 404, true);
      await admin.setExpectedError(appId, 'GET', '/a', 409, true);
      const rows = [404, 409].map((status_code) => ({ endpoint_id: marked.id, status_code }));
      expect(await expected(appId)).toEqual(rows);
      await admin.setExpectedError(appId, 'GET', '/a', 404, false);
      expect(await expected(appId)).toEqual(rows.slice(1));
    });

    it('need an endpoint that is there, in that app', async () => {
      const [appId, otherId] = [await writeEndpoint(), await createAppId()];
      await expect(admin.setExpectedError(otherId, 'GET', '/a', 404, true)).rejects.toThrow(AdminError);
      await expect(admin.setExpectedError(appId, 'GET', '/b', 404, true)).rejects.toThrow(AdminError);
    });

    it.each([200, 399, 600, 404.5, NaN])('cannot have the status %d', async (status) => {
      const appId = await writeEndpoint();
      await expect(admin.setExpectedError(appId, 'GET', '/a', status, true)).rejects.toThrow(AdminError);
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
      const marked = await admin.setExcluded(appId, 'get', '/a', true);
      expect(marked).toEqual({ ...before[0], excluded: true });
      expect(await marks(appId)).toEqual([marked, before[1]]);
      expect(await admin.setExcluded(appId, 'GET', '/a', false)).toEqual(before[0]);
      expect(await marks(appId)).toEqual(before);
    });

    it('need an endpoint that is there, in that app', async () => {
      const [appId, otherId] = [await createAppId(), await createAppId()];
      await RequestsWriter.create(open.store).write(otherId, [buildRequest({ path: '/a' })]);
      await expect(admin.setExcluded(appId, 'get', '/a', true)).rejects.toThrow(
        `App ${appId} has no endpoint GET /a`,
      );
      await expect(admin.setExcluded(UNKNOWN_ID, 'GET', '/a', true)).rejects.toThrow(AdminError);
      await expect(admin.setExcluded(otherId, 'GET', '/*', true)).rejects.toThrow(AdminError);
    });
  });

  describe('names', () => {
    it('are changed, and nothing else', async () => {
      const team = await admin.createTeam('Old', 'free');
      expect(await admin.renameTeam(team.id, 'New')).toEqual({ ...team, name: 'New' });
      expect(await admin.listTeams()).toContainEqual({ ...team, name: 'New' });

      const app = await admin.createApp(team.id, 'Old', 'express');
      await admin.setDisabled(app.id, true);
      expect(await admin.renameApp(app.id, 'New')).toEqual({ id: app.id, name: 'New' });
      expect(await admin.listApps(team.id)).toEqual([Object.assign({}, app, { name: 'New' })]);
      expect(await dump(`apps_v1 FINAL WHERE id = ${app.id} AND disabled`)).toContain('"New"');

      const { identifier } = await admin.createKey(team.id, { name: 'old', expiresAt: Date.now() + 60_000 });
      const [key] = await admin.listKeys(team.id);
      await admin.renameKey(identifier, 'new');
      expect(await admin.listKeys(team.id)).toEqual([{ ...key, name: 'new' }]);
    });

    it('of teams and apps are not empty, and none is of what does not exist', async () => {
      const appId = await createAppId();
      for (const change of [
        () => admin.renameApp(appId, ' '),
        () => admin.renameApp(UNKNOWN_ID, 'a'),
        () => admin.renameTeam(UNKNOWN_ID, 'a'),
        () => admin.renameKey('zzzzzzz', 'a'),
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
        const { identifier } = await admin.createKey(teamId);
        await Promise.all([
          admin.renameKey(identifier, 'renamed'),
          admin.revokeKey(identifier),
          admin.setKeyScopes(identifier, { ...ALL_SCOPES, hasBodies: false }),
          admin.renameKey(identifier, 'renamed again'),
        ]);
        await admin.setKeyScopes(identifier, { ...ALL_SCOPES, operations: ['listApps'] });
        await admin.renameKey(identifier, 'last');
        const key = (await admin.listKeys(teamId)).find((row) => row.identifier === identifier);
        expect(key).toMatchObject({
          revoked_at: expect.any(String) as string,
          name: 'last',
          operations: ['listApps'],
        });
      }
    });

    it('of a name undo neither a client ID, nor that an app is disabled, nor scopes, nor a plan', async () => {
      for (let n = 0; n < ROUNDS; n++) {
        const { id } = await admin.createApp(teamId, 'Shop', 'express');
        const [{ client_id }] = await Promise.all([admin.rotateClientId(id), admin.renameApp(id, 'Renamed')]);
        expect((await admin.listApps(teamId)).find((app) => app.id === id)).toMatchObject({ client_id });

        await Promise.all([admin.setDisabled(id, true), admin.renameApp(id, 'Renamed again')]);
        expect(await dump(`apps_v1 FINAL WHERE id = ${id} AND disabled`)).toContain(client_id);

        const { identifier } = await admin.createKey(teamId);
        const scopes = { ...ALL_SCOPES, hasBodies: false };
        await Promise.all([admin.setKeyScopes(identifier, scopes), admin.renameKey(identifier, 'renamed')]);
        expect((await admin.listKeys(teamId)).find((key) => key.identifier === identifier)).toMatchObject({
          has_bodies: false,
        });

        const plan = n % 2 === 0 ? 'free' : 'premium';
        await Promise.all([admin.setPlan(teamId, plan), admin.renameTeam(teamId, `Acme ${n}`)]);
        expect((await admin.listTeams()).find((team) => team.id === teamId)).toMatchObject({ plan });
      }
    });
  });

  describe('deletion', () => {
    const keyFor = (identifier: string) =>
      new ApiKeyRepository(open.store, open.config).lookup.find(identifier);

    it('of a key leaves no row of it, and its team the others', async () => {
      const teamId = await createTeamId();
      const [deleted, kept] = [await admin.createKey(teamId), await admin.createKey(teamId)];
      // Two versions of the row.
      await admin.renameKey(deleted.identifier, 'x');
      expect(await admin.deleteKey(deleted.identifier)).toEqual({
        identifier: deleted.identifier,
        deleted: true,
      });
      expect(await dump('api_keys_v1')).not.toContain(deleted.identifier);
      expect(await keyFor(deleted.identifier)).toBeNull();
      expect((await admin.listKeys(teamId)).map(({ identifier }) => identifier)).toEqual([kept.identifier]);
      await expect(admin.deleteKey(deleted.identifier)).rejects.toThrow(AdminError);
    });

    it('of a team takes its keys along, and its ID is not used again', async () => {
      const [teamId, otherId] = [await createTeamId(), await createTeamId()];
      const other = await admin.createKey(otherId);
      const { identifier } = await admin.createKey(teamId);
      expect(await admin.deleteTeam(teamId)).toEqual({ id: teamId, deleted: true });
      expect(await dump('api_keys_v1')).not.toContain(identifier);
      expect((await admin.listTeams()).map(({ id }) => id)).not.toContain(teamId);
      expect(await keyFor(other.identifier)).toMatchObject({ team_id: otherId });
      await admin.deleteTeam(otherId);
      expect(await createTeamId()).toBe(otherId + 1);
      await expect(admin.deleteTeam(teamId)).rejects.toThrow(AdminError);
    });

    it('of a team with apps is refused, and changes nothing', async () => {
      const teamId = await createTeamId();
      const app = await admin.createApp(teamId, 'Shop', 'express');
      const { identifier } = await admin.createKey(teamId);
      await expect(admin.deleteTeam(teamId)).rejects.toThrow(
        `Team ${teamId} has apps, which must be deleted first: ${app.id}`,
      );
      expect(await keyFor(identifier)).toMatchObject({ team_id: teamId });
    });
  });

  describe('deletion of an app', () => {
    /** Tables that have rows of apps. */
    const listAppTables = async () =>
      (
        await open.store.rows<{ name: string }>(
          'test.tables',
          `SELECT name FROM system.tables WHERE database = currentDatabase() AND endsWith(engine, 'MergeTree')
            AND name IN (SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'app_id')`,
        )
      ).map(({ name }) => name);
    const countRows = async (appId: number) => {
      const counts: Record<string, number> = {};
      for (const table of await listAppTables()) {
        const sql = `SELECT count() AS rows FROM ${table} WHERE app_id = {app_id:UInt32}`;
        const [row] = await open.store.rows<{ rows: number }>('test.count', sql, { app_id: appId });
        counts[table] = row!.rows;
      }
      return counts;
    };
    /** A row of each app in each table, so young that no TTL removes it. */
    const fillTables = async (...appIds: number[]) => {
      for (const table of await listAppTables()) {
        const columns = await open.store.rows<{ name: string; value: string }>(
          'test.columns',
          `SELECT name,
            multiIf(endsWith(name, '_ns'), 'toUnixTimestamp64Nano(now64(9))', type LIKE 'Date%', 'now()', '1') AS value
          FROM system.columns
          WHERE database = currentDatabase() AND table = {table:String} AND default_kind = '' AND name != 'app_id'
            AND match(type, '^(Date|U?Int)')`,
          { table },
        );
        for (const appId of appIds)
          await open.store.command(
            `INSERT INTO ${table} (${['app_id', ...columns.map(({ name }) => name)].join()})
              SELECT ${[appId, ...columns.map(({ value }) => value)].join()}`,
          );
      }
    };
    const request = (n: number) =>
      buildRequest({
        path: `/mark/${n}`,
        url: 'https://example.com/the-mark',
        consumer: { identifier: `the-mark ${n}`, name: 'the-mark', group: `the-mark ${n}` },
        captured_json: '{"request_headers":[["x","the-mark"]]}',
      });

    const deleteApp = (appId: number, coordinator = new LocalCoordinator()) =>
      admin.deleteApp(appId, new BatchLog(open.store, coordinator), false);

    it('leaves nothing of it in any table, and everything of other apps', async () => {
      const teamId = await createTeamId();
      const [deleted, kept] = [
        await admin.createApp(teamId, 'Shop', 'express'),
        await admin.createApp(teamId, 'Other', 'express'),
      ];
      const writer = RequestsWriter.create(open.store);
      await writer.write(kept.id, [request(1), request(2)]);
      await writer.write(deleted.id, [request(1), request(3)]);
      await admin.createWriteToken(deleted.id);
      await fillTables(deleted.id, kept.id);
      const before = await countRows(kept.id);
      expect(Object.entries(before).filter(([, rows]) => rows === 0)).toEqual([]);
      expect(Object.keys(before).length).toBeGreaterThan(25);

      expect(await deleteApp(deleted.id)).toEqual({ id: deleted.id, deleted: true });
      expect(Object.values(await countRows(deleted.id)).every((rows) => rows === 0)).toBe(true);
      expect(await countRows(kept.id)).toEqual(before);
      expect((await admin.listApps(teamId)).map(({ id }) => id)).toEqual([kept.id]);
      expect(await dump('apps_v1')).not.toContain(deleted.client_id);
      const log = await dump('ingest_batches_v1');
      expect(log).not.toMatch(new RegExp(`"app_id\\W+${deleted.id}\\D`));
      await expect(deleteApp(deleted.id)).rejects.toThrow(AdminError);
      // What is replayed from the log brings nothing back.
      await RequestsWriter.create(open.store).recover(0);
      expect(await countRows(kept.id)).toEqual(before);
      expect(Object.values(await countRows(deleted.id)).every((rows) => rows === 0)).toBe(true);
      await deleteApp(kept.id);
    });

    it('does not use its ID or those of its names again', async () => {
      const teamId = await createTeamId();
      const { id } = await admin.createApp(teamId, 'Shop', 'express');
      const write = (appId: number, n: number) =>
        RequestsWriter.create(open.store).write(appId, [request(n)]);
      const [first] = await write(id, 7);
      await deleteApp(id);
      const next = await admin.createApp(teamId, 'Shop', 'express');
      expect(next.id).toBeGreaterThan(id);
      const [second] = await write(next.id, 8);
      for (const name of ['app_env_id', 'endpoint_id', 'consumer_id'] as const)
        expect([name, second!.ids[name]]).toEqual([name, first!.ids[name] + 1]);
    });

    it('finds its rows in the log, in however many batches they are', async () => {
      const appId = await createAppId();
      await open.store.command(
        `INSERT INTO ingest_batches_v1 (batch_id, piece, created_at, pieces, table_name, payload, applied)
          SELECT toUUID('00000000-0000-4000-8000-' || leftPad(toString(intDiv(number, 2)), 12, '0')), number % 2, now(), 1,
            'requests', if(number % 2 = 0, '', '{"app_id":${appId}}'), number % 2 = 0
          FROM numbers(16000)`,
      );
      expect(await deleteApp(appId)).toEqual({ id: appId, deleted: true });
      expect(await dump('ingest_batches_v1')).not.toMatch(new RegExp(`"app_id\\W+${appId}\\D`));
    });

    it('applies no batch while a backup pauses writes', async () => {
      const appId = await createAppId();
      const id = randomUUID();
      const createdAt = formatBatchTime();
      const pieces = [{ table: 'requests' as const, rows: JSON.stringify({ app_id: appId }) }];
      await new BatchLog(open.store, new LocalCoordinator()).append({ id, createdAt, messages: [], pieces });
      const coordinator = new LocalCoordinator();
      const insert = jest.spyOn(open.store, 'insert');
      await coordinator.pauseWrites('backup', 60_000);
      const deletion = deleteApp(appId, coordinator);
      await pause(500);
      expect(insert).not.toHaveBeenCalled();
      await coordinator.resumeWrites('backup');
      await deletion;
      expect(insert).toHaveBeenCalledTimes(1);
      insert.mockRestore();
    });

    it('continues where an interruption ended it', async () => {
      const appId = await createAppId();
      await RequestsWriter.create(open.store).write(appId, [request(1)]);
      const run = open.store.command.bind(open.store);
      const command = jest
        .spyOn(open.store, 'command')
        .mockImplementation((sql, ...rest) =>
          sql.includes('request_details_v1') ? Promise.reject(new Error('killed')) : run(sql, ...rest),
        );
      await expect(deleteApp(appId)).rejects.toThrow('killed');
      command.mockRestore();
      expect((await countRows(appId)).request_details_v1).toBe(1);
      expect(await deleteApp(appId)).toEqual({ id: appId, deleted: true });
      expect(Object.values(await countRows(appId)).every((rows) => rows === 0)).toBe(true);
    });
  });

  it('shows what is stored, when data arrived last, and the size of each table', async () => {
    const appId = await createAppId();
    const empty = await createAppId();
    const oldest = Date.now() - 3_600_000;
    const before = await admin.readStatus();
    await RequestsWriter.create(open.store).write(appId, [
      buildRequest({ env: 'prod', timestamp: oldest }),
      buildRequest({ env: 'prod', timestamp: oldest + 1_000 }),
    ]);
    const [environment] = await admin.listEnvironments(appId);
    expect(environment).toMatchObject({
      name: 'prod',
      last_sync_at: expect.stringMatching(UTC_MILLISECONDS),
    });
    expect(await admin.listEnvironments(empty)).toEqual([]);
    await expect(admin.listEnvironments(UNKNOWN_ID)).rejects.toThrow(AdminError);

    const { stored, environments, tables } = await admin.readStatus();
    const rowsOf = (kinds: typeof stored, wanted: string) =>
      kinds.find(({ kind }) => kind === wanted)?.rows ?? 0;
    expect(rowsOf(stored, 'request logs') - rowsOf(before.stored, 'request logs')).toBe(2);
    for (const { kind, rows, since } of stored)
      expect([kind, since]).toEqual([kind, rows === 0 ? null : expect.stringMatching(UTC_MILLISECONDS)]);
    expect(environments).toContainEqual({
      app_id: appId,
      app: 'Shop',
      env_id: environment!.id,
      env: 'prod',
      last_sync_at: environment!.last_sync_at,
    });
    const logs = tables.find(({ table }) => table === 'request_logs_v1');
    expect(logs?.rows).toBe(rowsOf(stored, 'request logs'));
    expect(logs?.bytes).toBeGreaterThan(0);
    expect(logs?.parts).toBeGreaterThan(0);
  });

  it('shows stored spans, with the time of the oldest', async () => {
    const appId = await createAppId();
    const spanOf = (start_time_ns: bigint) =>
      `{"app_id":${appId},"start_time_ns":"${start_time_ns}","trace_id":"${'ab'.repeat(16)}","span_id":"${'cd'.repeat(8)}","kind":"SERVER","status":"OK","attributes":"{}","events":"[]"}`;
    // Older than what other tests write.
    const oldest = BigInt(Date.now() - 14 * 86_400_000) * 1_000_000n;
    const before = (await admin.readStatus()).stored.find(({ kind }) => kind === 'spans')?.rows ?? 0;
    await open.store.insert('logged_spans', [spanOf(oldest + 999_999n), spanOf(oldest + 60_000_000_000n)]);
    const { stored, tables } = await admin.readStatus();
    const since = new Date(Number(oldest / 1_000_000n)).toISOString();
    expect(stored).toContainEqual({ kind: 'spans', rows: before + 2, since });
    expect(stored.map(({ kind }) => kind).slice(0, 2)).toEqual(['request logs', 'request details']);
    expect(stored.map(({ kind }) => kind)).toContain('application logs');
    const spans = tables.find(({ table }) => table === 'spans_v1');
    expect(spans).toEqual({
      table: 'spans_v1',
      rows: before + 2,
      bytes: expect.any(Number) as number,
      parts: expect.any(Number) as number,
    });
  });
});
