import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { AdminError } from './admin.error.js';
import type { AppsAdmin } from './apps.admin.js';
import type { RowChanges } from './row-change.js';

interface Endpoint {
  id: number;
  method: string;
  path: string;
}

const ROW = (app_id: number, id: number) =>
  ({
    table: 'endpoints_v1',
    where: 'app_id = {app_id:UInt32} AND id = {id:UInt32}',
    key: { app_id, id },
  }) as const;
const SET_EXCLUDED = {
  name: 'endpoints.set_excluded',
  columns: '{excluded:Bool} AS excluded',
  kind: 'state',
} as const;
const ENDPOINT = `
SELECT id, method, path FROM endpoints_v1 FINAL
WHERE app_id = {app_id:Int64} AND method = {method:String} AND path = {path:String}`;

/** The marks on endpoints. */
export class EndpointsAdmin {
  constructor(
    private readonly store: ClickHouse,
    private readonly changes: RowChanges,
    private readonly apps: AppsAdmin,
  ) {}

  /** Marks an endpoint as excluded, or removes the mark. */
  async setExcluded(
    appId: number,
    method: string,
    path: string,
    excluded: boolean,
  ): Promise<Endpoint & { excluded: boolean }> {
    const endpoint = await this.require(appId, method, path);
    await this.changes.make(ROW(appId, endpoint.id), SET_EXCLUDED, { excluded });
    return { ...endpoint, excluded };
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
    return { ...endpoint, status_code, expected };
  }

  /** @throws AdminError if the app has no such endpoint. */
  private async require(appId: number, method: string, path: string): Promise<Endpoint> {
    await this.apps.require(appId);
    const params = { app_id: appId, method: method.toUpperCase(), path };
    const [row] = await this.store.rows<Endpoint>('endpoints.find', ENDPOINT, params);
    if (!row) throw new AdminError(`App ${appId} has no endpoint ${params.method} ${path}`);
    return row;
  }
}
