import { Injectable } from '@nestjs/common';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import type { Plan } from '../../platform/http/account.js';
import { CredentialLookup } from '../credential-lookup.js';
import { Config } from '../../config/config.js';

export interface ApiKeyRow {
  identifier: string;
  key_sha256: string;
  /** Milliseconds since the epoch; null: never. */
  expires_at_ms: number | null;
  revoked: boolean;
  team_id: number;
  team_name: string;
  plan: Plan;
  app_ids: number[];
  operations: string[];
  has_bodies: boolean;
  /** Empty: all consumers. */
  consumer: string;
  /** 0: the configured limit applies. */
  requests_per_minute: number;
}

const FIND = `
SELECT k.identifier AS identifier, k.key_sha256 AS key_sha256,
  toUnixTimestamp64Milli(k.expires_at) AS expires_at_ms, k.revoked_at IS NOT NULL AS revoked,
  k.app_ids AS app_ids, k.operations AS operations, k.has_bodies AS has_bodies, k.consumer AS consumer,
  k.requests_per_minute AS requests_per_minute, t.id AS team_id, t.name AS team_name, t.plan AS plan
FROM api_keys_v1 AS k FINAL
INNER JOIN teams_v1 AS t FINAL ON t.id = k.team_id
WHERE k.identifier = {identifier:String}`;

const ANY = 'SELECT identifier FROM api_keys_v1 LIMIT 1';
const IDENTIFIERS = 'SELECT DISTINCT identifier FROM api_keys_v1';

/** API keys (docs/contract.md#key-revocation). */
@Injectable()
export class ApiKeyRepository {
  /** Null: the key does not exist. */
  readonly lookup: CredentialLookup<ApiKeyRow | null>;

  constructor(
    private readonly store: ClickHouse,
    { cacheTtlMs }: Config,
  ) {
    const shared = { shared: true };
    this.lookup = new CredentialLookup(cacheTtlMs, {
      load: async (identifier) => {
        const [row] = await store.rows<ApiKeyRow>('api_keys.find', FIND, { identifier }, shared);
        return row ?? null;
      },
      listIdentifiers: async () => {
        const rows = await store.rows<{ identifier: string }>(
          'api_keys.identifiers',
          IDENTIFIERS,
          {},
          shared,
        );
        return rows.map(({ identifier }) => identifier);
      },
    });
  }

  /** Whether the store has any key. */
  async hasAny(): Promise<boolean> {
    return (await this.store.rows('api_keys.any', ANY)).length > 0;
  }
}
