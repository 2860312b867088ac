import { Injectable } from '@nestjs/common';
import { ClickHouse } from '../clickhouse/clickhouse.client.js';
import type { Plan } from '../common/account.js';
import { CachedLookup } from '../common/cached-lookup.js';
import { Config } from '../config/config.js';

export interface ApiKeyRow {
  identifier: string;
  key_sha256: string;
  /** Milliseconds since the epoch; null: never. */
  expires_at_ms: number | null;
  revoked: boolean;
  team_id: number;
  team_name: string;
  plan: Plan;
}

const IDENTIFIERS_TTL_MS = 1_000;
const FIND = `
SELECT k.identifier AS identifier, k.key_sha256 AS key_sha256,
  toUnixTimestamp64Milli(k.expires_at) AS expires_at_ms, k.revoked_at IS NOT NULL AS revoked,
  t.id AS team_id, t.name AS team_name, t.plan AS plan
FROM api_keys_v1 AS k FINAL
INNER JOIN teams_v1 AS t FINAL ON t.id = k.team_id
WHERE k.identifier = {identifier:String}`;

const ANY = 'SELECT identifier FROM api_keys_v1 LIMIT 1';
const IDENTIFIERS = 'SELECT DISTINCT identifier FROM api_keys_v1';

/**
 * Keys by identifier, cached for a few seconds: a revocation takes effect within 10 s
 * (docs/contract.md#key-revocation).
 */
@Injectable()
export class ApiKeyRepository {
  private readonly cache: CachedLookup<ApiKeyRow | null>;
  private readonly identifiers = new CachedLookup<Set<string>>(IDENTIFIERS_TTL_MS);

  constructor(
    private readonly store: ClickHouse,
    { cacheTtlMs }: Config,
  ) {
    this.cache = new CachedLookup(cacheTtlMs);
  }

  /** The key's row, or null when there is none. */
  find(identifier: string): Promise<ApiKeyRow | null> {
    return this.cache.find(identifier, () => this.load(identifier));
  }

  /** Whether the cache has the key; does not query the store. */
  isKnown(identifier: string): boolean {
    return this.cache.peek(identifier) != null;
  }

  /** Whether a key with this identifier exists, by a list that is at most a second old, so that a flood needs no queries. */
  async exists(identifier: string): Promise<boolean> {
    const identifiers = await this.identifiers.find('', async () => {
      const rows = await this.store.rows<Pick<ApiKeyRow, 'identifier'>>(
        'api_keys.identifiers',
        IDENTIFIERS,
        {},
        { shared: true },
      );
      return new Set(rows.map((row) => row.identifier));
    });
    return identifiers.has(identifier);
  }

  /** Whether the store has any key. */
  async hasAny(): Promise<boolean> {
    return (await this.store.rows('api_keys.any', ANY)).length > 0;
  }

  private async load(identifier: string): Promise<ApiKeyRow | null> {
    const [row] = await this.store.rows<ApiKeyRow>('api_keys.find', FIND, { identifier }, { shared: true });
    return row ?? null;
  }
}
