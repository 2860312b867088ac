import { Injectable } from '@nestjs/common';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import { CredentialLookup } from '../credential-lookup.js';
import { Config } from '../../config/config.js';
import type { ClientApp } from './client-apps.js';

export interface WriteTokenRow extends ClientApp {
  token_sha256: string;
  revoked: boolean;
}

const IDENTIFIERS = 'SELECT DISTINCT identifier FROM write_tokens_v1';
const FIND = `
SELECT a.id AS id, a.team_id AS team_id, a.framework AS framework, a.disabled AS disabled, a.graphql AS graphql,
  t.token_sha256 AS token_sha256, t.revoked_at IS NOT NULL AS revoked
FROM write_tokens_v1 AS t FINAL
INNER JOIN apps_v1 AS a FINAL ON a.id = t.app_id
WHERE t.identifier = {identifier:String}`;

/** Write tokens, each with its app. */
@Injectable()
export class WriteTokens {
  /** Undefined: no token has this identifier. */
  readonly lookup: CredentialLookup<WriteTokenRow | undefined>;

  constructor(store: ClickHouse, { cacheTtlMs }: Config) {
    this.lookup = new CredentialLookup(cacheTtlMs, {
      load: async (identifier) => {
        const [row] = await store.rows<WriteTokenRow>('write_tokens.find', FIND, { identifier });
        return row;
      },
      listIdentifiers: async () => {
        const rows = await store.rows<{ identifier: string }>('write_tokens.identifiers', IDENTIFIERS);
        return rows.map(({ identifier }) => identifier);
      },
    });
  }
}
