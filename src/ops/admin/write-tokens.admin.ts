import { hashApiKey } from '../../access/keys/api-key.js';
import { createWriteToken, findTokenIdentifier } from '../../access/tokens/write-token.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { AdminError } from './admin.error.js';
import type { AppsAdmin } from './apps.admin.js';
import type { RowChanges } from './row-change.js';

interface WriteTokenRow {
  identifier: string;
  app_id: number;
  name: string;
  created_at: string;
  revoked_at: string | null;
}

const TOKENS = `
SELECT identifier, app_id, name, created_at, revoked_at
FROM write_tokens_v1 FINAL WHERE app_id = {app_id:Int64} ORDER BY created_at, identifier`;
const APP = `SELECT app_id FROM write_tokens_v1 FINAL WHERE identifier = {identifier:String}`;
const ROW = (identifier: string) =>
  ({ table: 'write_tokens_v1', where: 'identifier = {identifier:String}', key: { identifier } }) as const;
const REVOKE = {
  name: 'write_tokens.revoke',
  columns: 'coalesce(revoked_at, now64(3)) AS revoked_at',
  kind: 'revocation',
} as const;

export class WriteTokensAdmin {
  constructor(
    private readonly store: ClickHouse,
    private readonly changes: RowChanges,
    private readonly apps: AppsAdmin,
  ) {}

  /**
   * Creates a write token of an app. Only its hash is stored, so the result is the only place where the token
   * is shown.
   */
  async create(
    appId: number,
    { name = '', token = createWriteToken() }: { name?: string; token?: string } = {},
  ): Promise<{ token: string; identifier: string }> {
    await this.apps.require(appId);
    const identifier = findTokenIdentifier(token);
    if (identifier === undefined) throw new AdminError('A write token is apt_ and 24 letters or digits');
    if ((await this.findApp(identifier)) !== undefined)
      throw new AdminError(`Write token ${identifier} exists already`);
    const row = {
      identifier,
      app_id: appId,
      name: name.toWellFormed(),
      token_sha256: hashApiKey(token),
      created_at: Date.now(),
      revoked_at: null,
    };
    await this.store.insert('write_tokens_v1', [JSON.stringify(row)]);
    return { token, identifier };
  }

  async list(appId: number): Promise<WriteTokenRow[]> {
    await this.apps.require(appId);
    return this.store.rows<WriteTokenRow>('write_tokens.list', TOKENS, { app_id: appId });
  }

  /**
   * Revokes a token permanently; revoking it again changes nothing. Collectors reject it within 10 seconds.
   */
  async revoke(
    appId: number,
    identifier: string,
  ): Promise<{ identifier: string; app_id: number; revoked: true }> {
    await this.apps.require(appId);
    if ((await this.findApp(identifier)) !== appId)
      throw new AdminError(`App ${appId} has no write token with that identifier`);
    await this.changes.make(ROW(identifier), REVOKE);
    return { identifier, app_id: appId, revoked: true };
  }

  private async findApp(identifier: string): Promise<number | undefined> {
    const [row] = await this.store.rows<{ app_id: number }>('write_tokens.find_app', APP, { identifier });
    return row?.app_id;
  }
}
