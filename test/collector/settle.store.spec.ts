import { randomUUID } from 'node:crypto';
import { TestService } from './setup/collector.js';

/** More than the collector looks at in one query. */
const MANY = 1_100;

describe('spans that wait for their metric', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await TestService.start();
  });

  afterAll(() => service.stop());

  it('are counted of other apps if those of one app cannot be, however many they are', async () => {
    const [failing, other] = [await service.tenant(), await service.tenant()];
    const { store } = service.api;
    const at = Date.now() - 600_000;
    const buildRow = (app_id: number) => ({
      app_id,
      instance_uuid: randomUUID(),
      received_at: at,
      timestamp: at,
      app_env_id: 1,
      endpoint_id: 0,
      consumer_id: 0,
      status_code: 200,
      requests: 1,
      bytes_received: 0,
      bytes_sent: 0,
      bins: [],
    });
    const { appId } = failing.tenant;
    const insert = store.insert.bind(store);
    const rejecting = jest
      .spyOn(store, 'insert')
      .mockImplementation((table, rows, ...rest) =>
        table === 'request_counts' &&
        rows.some((text) => text.includes(`\n[${appId},`) || text.includes(`,[${appId},`))
          ? Promise.reject(new Error('Memory limit exceeded'))
          : insert(table, rows, ...rest),
      );
    const rows = [...Array.from({ length: MANY }, () => buildRow(appId)), buildRow(other.tenant.appId)];
    await insert(
      'pending_counts_v1',
      rows.map((row) => JSON.stringify(row)),
    );
    const countOf = async ({ tenant }: typeof failing) =>
      (await tenant.traffic({ start: new Date(at - 60_000).toISOString() })).data.reduce(
        (sum, { requests }) => sum + requests,
        0,
      );
    await service.collector.settle();
    expect([await countOf(failing), await countOf(other)]).toEqual([0, 1]);
    rejecting.mockRestore();
  });
});
