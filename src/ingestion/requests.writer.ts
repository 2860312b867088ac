import { createHash } from 'node:crypto';
import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { Directories } from './directories.js';
import { lookups } from './lookups.js';
import type { CountRecord, RequestRecord } from './request-record.js';
import { countRow, requestRow, textsOf } from './rows.js';

const KNOWN = `
SELECT request_uuid FROM import_ledger_v1
WHERE app_id = {app_id:UInt32} AND request_uuid IN {request_uuids:Array(UUID)}`;

/** Writes whole requests into the landing table, each once, however often it is handed over. */
export class RequestsWriter {
  /** By app, the requests of writes that have not ended. */
  private readonly underWay = new Map<number, Set<string>>();

  constructor(
    private readonly store: ClickHouse,
    private readonly directories = Directories.of(store),
  ) {}

  /**
   * Writes those of the requests that the store does not have yet and resolves to them once they are acknowledged.
   *
   * The rows go in under a token made of their identities, then into the ledger. When the process dies in between,
   * the same requests come again with the same token, which completes what is missing and doubles nothing.
   *
   * Writes may overlap: a request that another one has under way is left to it, and lost or kept with it.
   */
  async write(appId: number, records: readonly RequestRecord[]): Promise<RequestRecord[]> {
    const underWay = this.underWay.get(appId) ?? new Set();
    this.underWay.set(appId, underWay);
    const own = new Map<string, RequestRecord>();
    for (const record of records)
      if (!underWay.has(record.request_uuid)) {
        underWay.add(record.request_uuid);
        own.set(record.request_uuid, record);
      }
    try {
      return await this.writeOwn(appId, own);
    } finally {
      for (const uuid of own.keys()) underWay.delete(uuid);
    }
  }

  private async writeOwn(appId: number, own: Map<string, RequestRecord>): Promise<RequestRecord[]> {
    const fresh = await this.unknown(appId, own);
    if (fresh.length === 0) return [];
    const resolved = await (await this.directories.get(appId)).resolve(fresh);
    const rows = textsOf(resolved, ({ record, ids }) => requestRow(appId, record, ids));
    const uuids = fresh.map(({ request_uuid }) => request_uuid);
    await this.store.insert('requests', rows, tokenOf(appId, uuids));
    const entries = textsOf(uuids, (request_uuid) => ({ app_id: appId, request_uuid }));
    await this.store.insert('import_ledger_v1', entries);
    return fresh;
  }

  /**
   * Adds sums to the traffic, and nothing to the logs; resolves once they are acknowledged.
   *
   * @param token the sums' identity, lower-case hex: the same one again changes nothing.
   */
  async writeCounts(appId: number, counts: readonly CountRecord[], token: string): Promise<void> {
    const resolved = await (await this.directories.get(appId)).resolve(counts);
    const rows = textsOf(resolved, ({ record, ids }) => countRow(appId, record, ids));
    await this.store.insert('request_counts', rows, token);
  }

  /** Those that the ledger does not have, in their order. */
  private async unknown(appId: number, own: ReadonlyMap<string, RequestRecord>): Promise<RequestRecord[]> {
    const unknown = new Map(own);
    for (const request_uuids of lookups([...own.keys()])) {
      const params = { app_id: appId, request_uuids };
      const known = await this.store.rows<{ request_uuid: string }>('import_ledger.known', KNOWN, params);
      for (const { request_uuid } of known) unknown.delete(request_uuid);
    }
    return [...unknown.values()];
  }
}

function tokenOf(appId: number, uuids: readonly string[]): string {
  return createHash('sha256')
    .update(`${appId}\n${uuids.join('\n')}`)
    .digest('hex');
}
