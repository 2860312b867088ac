import { hash, randomUUID } from 'node:crypto';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { findHighestId, requireId } from '../../records/names/id-generator.js';

const LAST_CLAIM = `SELECT max(id) AS id FROM id_claims_v1 WHERE table_name = {table_name:String}`;
const CLAIMS = `SELECT claim FROM id_claims_v1 WHERE table_name = {table_name:String} AND id = {id:UInt32}`;

/**
 * The next ID of a table, unique across processes: claims on the same ID have the same deduplication token,
 * so the engine keeps only one of them (migration 0001).
 */
export async function claimId(store: ClickHouse, table_name: 'teams_v1' | 'apps_v1'): Promise<number> {
  const claim = randomUUID();
  const [claimed] = await store.rows<{ id: number }>('ids.last_claim', LAST_CLAIM, { table_name });
  const highest = Math.max(claimed?.id ?? 0, await findHighestId(store, table_name));
  for (let id = highest + 1; ; id++) {
    const row = JSON.stringify({ table_name, id: requireId(table_name, id), claim });
    const token = hash('sha256', `${table_name} ${id}`);
    await store.insert('id_claims_v1', [row], token);
    const owners = await store.rows<{ claim: string }>('ids.claims', CLAIMS, { table_name, id });
    if (owners.some((owner) => owner.claim === claim)) return id;
  }
}
