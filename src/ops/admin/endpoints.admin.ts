import { IS_EXCLUDED, toLike } from '../../api/apps/apps.repository.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { AdminError } from './admin.error.js';
import type { AppsAdmin } from './apps.admin.js';
import type { RowChanges } from './row-change.js';

interface Endpoint {
  id: number;
  method: string;
  path: string;
}

/** The names of an endpoint, or a pattern of them with `*`. */
type EndpointNames = Omit<Endpoint, 'id'>;

/** Each lookup of an app compares all of its endpoints with all of its patterns. */
const MAX_EXCLUSIONS = 50;
const MAX_EXCLUSION_CHARACTERS = 256;

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
const ENDPOINTS = `
SELECT id, method, path, ${IS_EXCLUDED} AS excluded FROM endpoints_v1 FINAL
WHERE app_id = {app_id:Int64}
ORDER BY path, method, id`;
const EXCLUSIONS = `
SELECT method, path FROM endpoint_exclusions_v1 FINAL
WHERE app_id = {app_id:Int64} AND marked
ORDER BY path, method`;
const EXCLUSIONS_OF = `
SELECT method, path FROM endpoint_exclusions_v1 FINAL
WHERE app_id = {app_id:Int64} AND marked
  AND materialize({method:String}) LIKE ${toLike('method')} AND materialize({path:String}) LIKE ${toLike('path')}
LIMIT 1`;
const COUNT_MATCHES = `
SELECT count() AS endpoints FROM endpoints_v1 FINAL
WHERE app_id = {app_id:Int64} AND method LIKE ${toLike('{method:String}')} AND path LIKE ${toLike('{path:String}')}`;

/** The marks on endpoints. */
export class EndpointsAdmin {
  constructor(
    private readonly store: ClickHouse,
    private readonly changes: RowChanges,
    private readonly apps: AppsAdmin,
  ) {}

  /** The patterns that exclude endpoints of an app, and its endpoints. */
  async list(appId: number) {
    await this.apps.require(appId);
    const params = { app_id: appId };
    return {
      excluded_patterns: await this.listExclusions(appId),
      endpoints: await this.store.rows<Endpoint & { excluded: boolean }>(
        'endpoints.marks',
        ENDPOINTS,
        params,
      ),
    };
  }

  /** Marks an endpoint as excluded, or removes the mark. */
  async setExcluded(
    appId: number,
    method: string,
    path: string,
    excluded: boolean,
  ): Promise<Endpoint & { excluded: boolean }> {
    const endpoint = await this.require(appId, method, path);
    const params = { app_id: appId, method: endpoint.method, path };
    const [by] = excluded
      ? []
      : await this.store.rows<EndpointNames>('endpoint_exclusions.find', EXCLUSIONS_OF, params);
    if (by)
      throw new AdminError(
        `${endpoint.method} ${path} is excluded by a pattern: include --method '${by.method}' --path '${by.path}'`,
      );
    await this.changes.make(ROW(appId, endpoint.id), SET_EXCLUDED, { excluded });
    return { ...endpoint, excluded };
  }

  /**
   * Excludes all endpoints that match a pattern, now and later, or takes the pattern back. `*` is any run of
   * characters, in the method and in the path.
   */
  async setPatternExcluded(
    appId: number,
    method: string,
    path: string,
    excluded: boolean,
  ): Promise<EndpointNames & { endpoints: number; excluded: boolean }> {
    await this.apps.require(appId);
    const pattern = { method: method.toUpperCase(), path };
    if (method.length + path.length > MAX_EXCLUSION_CHARACTERS)
      throw new AdminError(`A pattern has at most ${MAX_EXCLUSION_CHARACTERS} characters`);
    const present = await this.listExclusions(appId);
    const isPresent = present.some(
      (existing) => existing.method === pattern.method && existing.path === path,
    );
    if (!excluded && !isPresent)
      throw new AdminError(`App ${appId} has no excluded pattern ${pattern.method} ${path}`);
    if (excluded && !isPresent && present.length >= MAX_EXCLUSIONS)
      throw new AdminError(`App ${appId} has ${MAX_EXCLUSIONS} excluded patterns, which is the maximum`);
    const row = { app_id: appId, ...pattern, marked: excluded };
    await this.store.insert('endpoint_exclusions_v1', [JSON.stringify(row)]);
    const [count] = await this.store.rows<{ endpoints: number }>('endpoint_exclusions.count', COUNT_MATCHES, {
      app_id: appId,
      ...pattern,
    });
    return { ...pattern, endpoints: count?.endpoints ?? 0, excluded };
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

  private listExclusions(appId: number): Promise<EndpointNames[]> {
    return this.store.rows('endpoint_exclusions.list', EXCLUSIONS, { app_id: appId });
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
