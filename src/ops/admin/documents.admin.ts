import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import type { WriterCoordinator } from '../../coordination/writer-coordinator.js';
import { ApiDocuments } from '../../write/batches/api-documents.js';
import type { ApiDocument } from '../../write/batches/message.js';
import { RequestClaims } from '../../write/request-claims.js';
import { AdminError } from './admin.error.js';
import type { AppsAdmin } from './apps.admin.js';

/** Longer than the claim of a dead collector. */
const WAIT_MS = 90_000;

/** OpenAPI documents that the operator imports beside those that applications send. */
export class DocumentsAdmin {
  private readonly claims: RequestClaims;

  constructor(
    private readonly store: ClickHouse,
    coordinator: WriterCoordinator,
    private readonly apps: AppsAdmin,
  ) {
    this.claims = new RequestClaims(coordinator);
  }

  /**
   * Stores the document of an app, or of one of its environments, in place of the one that was imported for
   * it before.
   *
   * @returns whether it differs from that one
   */
  async import(appId: number, env: string | undefined, document: ApiDocument): Promise<boolean> {
    const envs = await this.apps.listEnvironments(appId);
    const envId = env === undefined ? 0 : envs.find(({ name }) => name === env)?.id;
    if (envId === undefined) throw new AdminError(`App ${appId} has no environment ${env ?? ''}`);
    const subject = { app_env_id: envId, is_imported: true, app_version: '' };
    return this.claims.run([ApiDocuments.claim(appId)], WAIT_MS, async (hold) => {
      const rows = await new ApiDocuments(this.store).findNew(appId, [{ ...subject, ...document }]);
      await hold();
      if (rows.length > 0)
        await this.store.insert(
          'api_documents_v1',
          rows.map((row) => JSON.stringify(row)),
        );
      return rows.length > 0;
    });
  }
}
