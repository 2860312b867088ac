import { TestApp } from '../setup/app.js';

describe('GET /v1/team', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await TestApp.start();
  });

  afterAll(() => app.stop());

  describe('200', () => {
    it("is the key's team: id and name, in this order", async () => {
      const { teamId, key } = await app.team();
      const response = await app.get('/v1/team', key);
      expect(response.status).toBe(200);
      expect(response.headers['content-type']).toMatch(/^application\/json/);
      expect(response.text).toBe(`{"id":${teamId},"name":"Acme"}`);
    });

    it('is the same for each key of a team, and another for the key of another team', async () => {
      const { teamId, key } = await app.team();
      const second = await app.admin.keys.create(teamId);
      const other = await app.team();
      const ids = [key, second.key, other.key].map(
        async (apiKey) => (await app.get('/v1/team', apiKey)).body.id,
      );
      expect(await Promise.all(ids)).toEqual([teamId, teamId, other.teamId]);
      expect(other.teamId).not.toBe(teamId);
    });

    it('returns a name unchanged, with any characters', async () => {
      const name = String.raw`Ünïcode 株式会社 🚀 "quoted" \ 'n' {x:String} </script>`;
      const { id } = await app.admin.teams.create(name, 'premium');
      const { key } = await app.admin.keys.create(id);
      expect((await app.get('/v1/team', key)).body).toEqual({ id, name });
    });

    it('takes no query parameters and ignores any', async () => {
      const { teamId, key } = await app.team();
      const response = await app.get('/v1/team', key, { limit: 'none', next_token: 'x', id: 99 });
      expect([response.status, response.body.id]).toEqual([200, teamId]);
    });
  });
});
