import type { ClickHouse } from '../../../src/clickhouse/clickhouse.client.js';
import { type Parameters, withLiterals } from '../../../src/clickhouse/literals.js';

type Format = 'JSONEachRow' | 'TabSeparatedRaw';

/** A statement of the product, as the engine was given it. */
export interface Statement {
  sql: string;
  format: Format;
}

/** Asked every few minutes: no part of what one request costs. */
const REMEMBERED = "log_comment = 'request_logs.count'";

interface Client {
  query(params: { query: string; query_params?: Parameters; format: Format }): unknown;
}

/** What the product asks the store while `action` runs: the texts of its repositories, none written here. */
export async function recorded(store: ClickHouse, action: () => Promise<unknown>): Promise<Statement[]> {
  const statements: Statement[] = [];
  // The door's own client, which is private: its text is final but for the values.
  const { client } = store as unknown as { client: Client };
  const query = client.query.bind(client);
  client.query = (params) => {
    if (!params.query.includes(REMEMBERED))
      statements.push({ sql: withLiterals(params.query, params.query_params), format: params.format });
    return query(params);
  };
  try {
    await action();
  } finally {
    client.query = query;
  }
  return statements;
}
