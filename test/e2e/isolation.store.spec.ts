import { DENSE, SAMPLE_UUID, listFiles, listOperations, listQueries } from '../setup/all-operations.js';
import { TestApp } from '../setup/app.js';
import { Tenant } from '../setup/tenant.js';

const MARK = 'of-alpha';
/** One read of their list is far above the limit of a result. */
const ENDPOINTS = 20_000;
const PATH_LENGTH = 2_000;

/** Members that differ from one response to the next: the tokens carry the resolved window. */
const withoutTokens = (text: string) => text.replace(/"next_token":"[^"]+"/, '"next_token":""');

describe('a team beside another one whose queries fail after their first rows', () => {
  let app: TestApp;
  let alpha: Tenant;
  let beta: Tenant;

  beforeAll(async () => {
    app = await TestApp.start({ QUERY_MAX_RESULT_MB: '12' });
    [alpha, beta] = [await Tenant.create(app), await Tenant.create(app)];
    await app.store.command(`
      INSERT INTO endpoints_v1 (app_id, id, method, path, created_at)
      SELECT ${alpha.appId}, 1000000 + number, 'GET', concat('/${MARK}/', leftPad(toString(number), ${PATH_LENGTH}, '0')), now()
      FROM numbers(${ENDPOINTS})`);
    await beta.write({ request_uuid: SAMPLE_UUID, consumer: { identifier: 'bob' } });
    const old = { timestamp: Date.now() - 3_600_000 };
    await beta.write(...Array.from({ length: DENSE }, () => old));
  });

  afterAll(() => app.stop());

  it('gets exactly its own data in every operation', async () => {
    const paths = listOperations(beta.appId);
    const read = async (path: string) => {
      const { status, text } = await app.get(path, beta.key);
      return { path, status, text: withoutTokens(text) };
    };
    const fail = async () => (await app.get(`/v1/apps/${alpha.appId}/endpoints`, alpha.key)).status;
    const query = async ({ path, body }: { path: string; body: object }) => {
      const { status, body: response, text } = await app.post(path, beta.key, body);
      return { path, status, answer: Buffer.isBuffer(response) ? response.toString('latin1') : text };
    };
    // The same windows each time.
    const [queries, files] = [listQueries(beta.appId), listFiles(beta.appId)];
    const queryAll = async () => {
      const answers = [];
      for (const request of [...queries, ...files]) answers.push(await query(request));
      return answers;
    };
    const answered = await queryAll();
    expect(answered.map(({ status }) => status)).toEqual(answered.map(() => 200));
    const expected = await Promise.all(paths.map(read));
    for (let round = 0; round < 3; round++) {
      const failing = Array.from({ length: 6 }, fail);
      expect(await Promise.all(paths.map(read))).toEqual(expected);
      expect(await queryAll()).toEqual(answered);
      expect(await Promise.all(failing)).toEqual(Array(6).fill(503));
      const after = await Promise.all(paths.map(read));
      expect(after).toEqual(expected);
      expect(JSON.stringify(after)).not.toContain(MARK);
    }
  });
});
