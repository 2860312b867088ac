import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { AdminError } from './admin.error.js';
import type { AppsAdmin } from './apps.admin.js';

interface Endpoint {
  id: number;
  method: string;
  path: string;
}

interface EndpointRow extends Endpoint {
  excluded: boolean;
  created_at: string;
}

const ENDPOINT = `
SELECT id, method, path, excluded, toString(created_at) AS created_at FROM endpoints_v1 FINAL
WHERE app_id = {app_id:Int64} AND method = {method:String} AND path = {path:String}`;

/** The marks on endpoints. */
export class EndpointsAdmin {
  constructor(
    private readonly store: ClickHouse,
    private readonly apps: AppsAdmin,
  ) {}

  /** Marks an endpoint as excluded, or removes the mark. */
  async setExcluded(
    appId: number,
    method: string,
    path: string,
    excluded: boolean,
  ): Promise<Endpoint & { excluded: boolean }> {
    const row = await this.require(appId, method, path);
    await this.store.insert('endpoints_v1', [JSON.stringify({ app_id: appId, ...row, excluded })]);
    return { id: row.id, method: row.method, path: row.path, excluded };
  }

  /** Counts a status of an endpoint as a success in metrics, past and future, or as an error again. */
  async setExpectedError(
    appId: number,
    method: string,
    path: string,
    status_code: number,
    expected: boolean,
  ): Promise<Endpoint & { status_code: number; expected: boolean }> {
    if (!Number.isInteger(status_code) || status_code < 400 || status_code > 599)
      throw new AdminError('The status of an error is a number from 400 to 599');
    const endpoint = await this.require(appId, method, path);
    const row = { app_id: appId, endpoint_id: endpoint.id, status_code, marked: expected };
    await this.store.insert('endpoint_expected_errors_v1', [JSON.stringify(row)]);
    return { id: endpoint.id, method: endpoint.method, path: endpoint.path, status_code, expected };
  }

  /** @throws AdminError if the app has no such endpoint. */
  private async require(appId: number, method: string, path: string): Promise<EndpointRow> {
    await this.apps.require(appId);
    const params = { app_id: appId, method: method.toUpperCase(), path };
    const [row] = await this.store.rows<EndpointRow>('endpoints.find', ENDPOINT, params);
    if (!row) throw new AdminError(`App ${appId} has no endpoint ${params.method} ${path}`);
    return row;
  }
}
