import { createHash } from 'node:crypto';
import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { Directory, type RequestIds } from './directory.js';
import { Ids, dateTime64 } from './ids.js';
import type { CountRecord, RequestRecord } from './request-record.js';

const KNOWN = `
SELECT request_uuid FROM import_ledger_v1
WHERE app_id = {app_id:UInt32} AND request_uuid IN {request_uuids:Array(UUID)}`;

/** UUIDs asked for at once: the engine reads statements up to 256 KiB. */
const LOOKUP = 5_000;

/** Writes whole requests into the landing table, each once, however often it is handed over. */
export class RequestsWriter {
  private readonly directories = new Map<number, Promise<Directory>>();

  constructor(
    private readonly store: ClickHouse,
    private readonly ids = new Ids(store),
  ) {}

  /**
   * Writes those of the requests that the store does not have yet and resolves to them once they are acknowledged.
   *
   * The rows go in under a token made of their identities, then into the ledger. When the process dies in between,
   * the same requests come again with the same token, which completes what is missing and doubles nothing.
   */
  async write(appId: number, records: readonly RequestRecord[]): Promise<RequestRecord[]> {
    const fresh = await this.unknown(appId, records);
    if (fresh.length === 0) return [];
    const directory = await this.directory(appId);
    const ids = await directory.resolve(fresh);
    const rows = fresh.map((record, index) => landingRow(appId, record, ids[index]!));
    const uuids = fresh.map(({ request_uuid }) => request_uuid);
    await this.store.insert('requests', rows, tokenOf(appId, uuids));
    const entries = uuids.map((request_uuid) => JSON.stringify({ app_id: appId, request_uuid }));
    await this.store.insert('import_ledger_v1', entries);
    return fresh;
  }

  /**
   * Adds sums to the traffic, and nothing to the logs; resolves once they are acknowledged.
   *
   * @param token the sums' identity, lower-case hex: the same one again changes nothing.
   */
  async writeCounts(appId: number, counts: readonly CountRecord[], token: string): Promise<void> {
    const ids = await (await this.directory(appId)).resolve(counts);
    const rows = counts.map(({ timestamp, requests, bytes_received, bytes_sent }, index) =>
      JSON.stringify({
        app_id: appId,
        timestamp: dateTime64(timestamp),
        ...ids[index],
        requests,
        bytes_received,
        bytes_sent,
      }),
    );
    await this.store.insert('request_counts', rows, token);
  }

  private async unknown(appId: number, records: readonly RequestRecord[]): Promise<RequestRecord[]> {
    const distinct = new Map<string, RequestRecord>();
    for (const record of records)
      if (!distinct.has(record.request_uuid)) distinct.set(record.request_uuid, record);
    const request_uuids = [...distinct.keys()];
    for (let from = 0; from < request_uuids.length; from += LOOKUP) {
      const params = { app_id: appId, request_uuids: request_uuids.slice(from, from + LOOKUP) };
      const known = await this.store.rows<{ request_uuid: string }>('import_ledger.known', KNOWN, params);
      for (const { request_uuid } of known) distinct.delete(request_uuid);
    }
    return [...distinct.values()];
  }

  private directory(appId: number): Promise<Directory> {
    const known = this.directories.get(appId);
    if (known) return known;
    const loading = Directory.load(this.store, this.ids, appId);
    this.directories.set(appId, loading);
    loading.catch(() => this.directories.delete(appId));
    return loading;
  }
}

function tokenOf(appId: number, uuids: readonly string[]): string {
  return createHash('sha256')
    .update(`${appId}\n${uuids.join('\n')}`)
    .digest('hex');
}

/** One row of `requests`; absent values as that table writes them. */
function landingRow(appId: number, record: RequestRecord, ids: RequestIds): string {
  return JSON.stringify({
    app_id: appId,
    timestamp: dateTime64(record.timestamp),
    request_uuid: record.request_uuid,
    ...ids,
    env: record.env,
    consumer: record.consumer?.identifier ?? '',
    method: record.method,
    path: record.path ?? '',
    url: record.url,
    status_code: record.status_code,
    request_size_bytes: record.request_size_bytes ?? -1,
    response_size_bytes: record.response_size_bytes ?? -1,
    response_time_ms: record.response_time_ms,
    client_ip: record.client_ip ?? '',
    client_country_iso_code: record.client_country_iso_code ?? '',
    is_noise: record.is_noise,
    capture: record.capture,
  });
}
