import { Injectable } from '@nestjs/common';
import { matchesHash } from '../auth/api-key.js';
import { findTokenIdentifier } from '../auth/write-token.js';
import { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { CachedLookup } from '../common/cached-lookup.js';
import { Config } from '../config/config.js';
import type { ClientApp } from './client-apps.js';

interface WriteTokenRow extends ClientApp {
  token_sha256: string;
  revoked: boolean;
}

const IDENTIFIERS_TTL_MS = 1_000;
const IDENTIFIERS = 'SELECT DISTINCT identifier FROM write_tokens_v1';
const FIND = `
SELECT a.id AS id, a.team_id AS team_id, a.framework AS framework, a.disabled AS disabled,
  t.token_sha256 AS token_sha256, t.revoked_at IS NOT NULL AS revoked
FROM write_tokens_v1 AS t FINAL
INNER JOIN apps_v1 AS a FINAL ON a.id = t.app_id
WHERE t.identifier = {identifier:String}`;

/** Apps by write token, cached for a few seconds: a revocation takes effect within 10 s. */
@Injectable()
export class WriteTokens {
  private readonly cache: CachedLookup<WriteTokenRow | undefined>;
  private readonly identifiers = new CachedLookup<Set<string>>(IDENTIFIERS_TTL_MS);

  constructor(
    private readonly store: ClickHouse,
    { cacheTtlMs }: Config,
  ) {
    this.cache = new CachedLookup(cacheTtlMs);
  }

  /** The app of a token; undefined if the token is unknown or revoked. */
  async find(token: string): Promise<ClientApp | undefined> {
    const identifier = findTokenIdentifier(token);
    if (identifier === undefined) return undefined;
    const row = await this.cache.find(identifier, () => this.load(identifier));
    if (!row || row.revoked || !matchesHash(token, row.token_sha256)) return undefined;
    const { id, team_id, framework, disabled } = row;
    return { id, team_id, framework, disabled };
  }

  /** Whether the cache has a token with this identifier; does not query the store. */
  isKnown(token: string): boolean {
    const identifier = findTokenIdentifier(token);
    return identifier !== undefined && this.cache.peek(identifier) !== undefined;
  }

  /** Whether a token with this identifier exists, by a list that is cached for a second: a flood of guesses costs one query a second. */
  async exists(token: string): Promise<boolean> {
    const identifier = findTokenIdentifier(token);
    if (identifier === undefined) return false;
    const known = await this.identifiers.find('', async () => {
      const rows = await this.store.rows<{ identifier: string }>('write_tokens.identifiers', IDENTIFIERS);
      return new Set(rows.map((row) => row.identifier));
    });
    return known.has(identifier);
  }

  private async load(identifier: string): Promise<WriteTokenRow | undefined> {
    const [row] = await this.store.rows<WriteTokenRow>('write_tokens.find', FIND, { identifier });
    return row;
  }
}
