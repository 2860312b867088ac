import type { ClickHouse } from '../../../src/store/client/clickhouse.client.js';
import { type Parameters, renderParameters } from '../../../src/store/client/query-parameters.js';

type Format = 'JSONEachRow' | 'TabSeparatedRaw';

const FORMAT = /\nFORMAT (\w+)$/;

/** A statement of the product, as the engine was given it. */
export interface Statement {
  sql: string;
  format: Format;
}

/** Their results are remembered: no part of what one request costs. */
const REMEMBERED = ['request_logs.stats', 'app_metrics.accuracy'].map((name) => `log_comment = '${name}'`);

interface Client {
  exec(params: { query: string; query_params?: Parameters }): unknown;
}

/** What the product asks the store while `action` runs: the texts of its repositories, none written here. */
export async function recorded(store: ClickHouse, action: () => Promise<unknown>): Promise<Statement[]> {
  const statements: Statement[] = [];
  // The store's own client, which is private: its text is final but for the values.
  const { client } = store as unknown as { client: Client };
  const exec = client.exec.bind(client);
  client.exec = (params) => {
    const { query, query_params } = params;
    const format = FORMAT.exec(query)?.[1] as Format;
    if (!REMEMBERED.some((comment) => query.includes(comment)))
      statements.push({ sql: renderParameters(query.replace(FORMAT, ''), query_params), format });
    return exec(params);
  };
  try {
    await action();
  } finally {
    client.exec = exec;
  }
  return statements;
}
