import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import type { Parameters } from '../../src/store/client/query-parameters.js';
import { StoreMonitor } from '../../src/store/health/store-monitor.js';
import { EMPTY_CAPTURE, toCaptureJson } from '../../src/records/capture.js';
import { readGrants } from '../setup/account-server.js';
import { DENSE, SAMPLE_UUID, listFiles, listOperations, listQueries } from '../setup/all-operations.js';
import { TestApp } from '../setup/app.js';
import { Tenant } from '../setup/tenant.js';

const COLUMNS = `
SELECT table, groupArray(name) AS columns FROM system.columns WHERE database = currentDatabase() GROUP BY table`;
const TABLE = /TABLE id: (\d+),.* table_name: (\w+\.\w+)/;
const COLUMN = /COLUMN id: \d+, column_name: (\w+),.* source_id: (\d+)/;
const SCALAR = /^\s*\((SELECT .*)\) AS/gm;
const GRANT = /^GRANT SELECT(?: \(([^)]+)\))? ON ([\w.]+)$/;
/**
 * Every account may read the list of tables, and sees there what it may see; and what the engine keeps in
 * the steps of a recursion.
 */
const WITHOUT_GRANT = /^(?:system\.tables|_tmp_[0-9a-f]+)\./;

interface Statement {
  sql: string;
  params: Parameters;
}

describe('what the reader of clickhouse/accounts may read', () => {
  let app: TestApp;
  let tenant: Tenant;
  let columns: Map<string, string[]>;

  beforeAll(async () => {
    app = await TestApp.start();
    tenant = await Tenant.create(app);
    const captured_json = toCaptureJson({ ...EMPTY_CAPTURE, trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' });
    await tenant.write(
      { request_uuid: SAMPLE_UUID, consumer: { identifier: 'bob' }, captured_json },
      { path: '/hidden' },
    );
    await tenant.write(...Array.from({ length: DENSE }, () => ({})));
    await tenant.exclude('GET', '/hidden');
    const tables = await app.store.rows<{ table: string; columns: string[] }>('test.columns', COLUMNS);
    columns = new Map(tables.map((table) => [table.table, table.columns]));
  });

  afterAll(() => app.stop());

  /** Every statement that the API sends for all of its operations; they run as always. */
  async function statements(): Promise<Statement[]> {
    const reads = (['rows', 'jsonLines'] as const).map((name) => jest.spyOn(ClickHouse.prototype, name));
    const files = jest.spyOn(ClickHouse.prototype, 'file');
    for (const path of listOperations(tenant.appId)) await app.get(path, tenant.key);
    for (const { path, body } of [...listQueries(tenant.appId), ...listFiles(tenant.appId)])
      await app.post(path, tenant.key, body);
    await app.app.get(StoreMonitor).check();
    const seen = [
      ...reads.flatMap(({ mock }) => mock.calls.map(([, sql, params = {}]) => ({ sql, params }))),
      ...files.mock.calls.map(([, { sql }, params = {}]) => ({ sql, params })),
    ];
    jest.restoreAllMocks();
    return seen;
  }

  /**
   * The engine computes scalar subqueries before it explains what is around them: they are explained by
   * themselves.
   */
  function withScalars({ sql, params }: Statement): Statement[] {
    return [sql, ...[...sql.matchAll(SCALAR)].map(([, scalar = '']) => scalar)].map((statement) => ({
      sql: statement,
      params,
    }));
  }

  /** The columns of tables that the engine says a statement reads, as `table.column`. */
  async function listColumns({ sql, params }: Statement): Promise<string[]> {
    const tree = await app.store.rows<{ explain: string }>('test.tree', `EXPLAIN QUERY TREE ${sql}`, params);
    const tables = new Map<string, string>();
    for (const { explain } of tree) {
      const [, id = '', table = ''] = TABLE.exec(explain) ?? [];
      tables.set(id, table.startsWith('system.') ? table : table.slice(table.indexOf('.') + 1));
    }
    return tree.flatMap(({ explain }) => {
      const [, column = '', source = ''] = COLUMN.exec(explain) ?? [];
      const table = tables.get(source);
      return table === undefined || column === '' ? [] : [`${table}.${column}`];
    });
  }

  it('is just what the API’s statements read, column by column', async () => {
    const read = new Set<string>();
    for (const statement of (await statements()).flatMap(withScalars))
      for (const column of await listColumns(statement)) read.add(column);
    // Asked for once, when the service starts.
    for (const column of ['name', 'value', 'created_at']) read.add(`secrets_v1.${column}`);
    const grants = readGrants('request_analytics_reader').filter(
      (grant) => grant !== 'GRANT SHOW TABLES ON *',
    );
    const granted = grants.flatMap((grant) => {
      const [, some, table = ''] = GRANT.exec(grant) ?? [];
      return (some?.split(', ') ?? columns.get(table) ?? [grant]).map((column) => `${table}.${column}`);
    });
    expect(granted.sort()).toEqual([...read].filter((column) => !WITHOUT_GRANT.test(column)).sort());
  });
});
