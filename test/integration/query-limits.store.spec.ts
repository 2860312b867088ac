import { QueryTimedOut, StoreUnavailable } from '../../src/store/client/clickhouse.errors.js';
import { type OpenStore, openEmptyStore } from '../setup/store.js';

describe('the limits on every query', () => {
  let open: OpenStore;

  beforeAll(async () => {
    open = await openEmptyStore({
      QUERY_TIMEOUT_SECONDS: '1',
      QUERY_MAX_MEMORY_MB: '16',
      QUERY_MAX_READ_MB: '16',
      QUERY_MAX_RESULT_MB: '1',
    });
  });

  afterAll(() => open.remove());

  it.each([
    ['time', 'SELECT max(sleepEachRow(0.025)) AS n FROM numbers(100)', QueryTimedOut],
    ['memory', 'SELECT length(groupArray(number)) AS n FROM numbers(1500000)', StoreUnavailable],
    ['bytes read', 'SELECT max(number) AS n FROM numbers(10000000)', StoreUnavailable],
    ['bytes of the result', `SELECT repeat('x', 1000) AS text FROM numbers(5000)`, StoreUnavailable],
  ])('%s: an error, never a part of the rows', async (_, sql, error) => {
    await expect(open.store.rows('limits', sql, {}, { threads: 1 })).rejects.toThrow(error);
  });

  it('let pass what is within them', async () => {
    const rows = await open.store.rows('limits', 'SELECT max(number) AS n FROM numbers(1000000)');
    expect(rows).toEqual([{ n: 999_999 }]);
  });
});
