import { AdminError } from '../../ops/admin/admin.error.js';
import type { Admin } from '../../ops/admin/admin.js';
import { hashApiKey, parseIdentifier } from '../../access/keys/api-key.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';

/** Name of the keys that a start creates and the next start revokes. */
const PER_START = 'demo';
const GIVEN = 'DEMO_API_KEY';

const VALID_HASH = `
SELECT key_sha256 FROM api_keys_v1 FINAL
WHERE identifier = {identifier:String} AND team_id = {team_id:Int64} AND revoked_at IS NULL AND expires_at IS NULL`;

/**
 * A key of the team that can be shown: the given key, which is created if it does not exist, or a new one.
 * The store only has hashes, so a key of an earlier start cannot be shown again; the new key replaces it, and
 * the old one is revoked.
 *
 * @throws AdminError when the given key cannot be used
 */
export async function demoKey(
  store: ClickHouse,
  admin: Admin,
  teamId: number,
  given: string | undefined,
): Promise<string> {
  if (given === undefined) return newKey(admin, teamId);
  if (!(await isValid(store, teamId, given))) await admin.keys.create(teamId, { name: GIVEN, key: given });
  return given;
}

async function newKey(admin: Admin, teamId: number): Promise<string> {
  const keys = await admin.keys.list(teamId);
  const { key } = await admin.keys.create(teamId, { name: PER_START });
  for (const { identifier, name, revoked_at } of keys)
    if (name === PER_START && revoked_at === null) await admin.keys.revoke(identifier);
  return key;
}

/** @throws AdminError if another key, or a revoked one, has the identifier */
async function isValid(store: ClickHouse, teamId: number, key: string): Promise<boolean> {
  const identifier = parseIdentifier(key) ?? '';
  const params = { identifier, team_id: teamId };
  const [row] = await store.rows<{ key_sha256: string }>('demo.find_key', VALID_HASH, params);
  if (row && row.key_sha256 !== hashApiKey(key))
    throw new AdminError(`${GIVEN}: the store has another key ${identifier}; choose another first part`);
  return row !== undefined;
}
