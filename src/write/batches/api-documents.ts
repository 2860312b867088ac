import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { hashUuid } from '../../shared/hash-uuid.js';
import { dateTime64 } from '../../records/names/id-generator.js';
import type { ApiDocument, Message } from './message.js';

/** Largest number of versions of an app whose document is kept. */
const MAX_DOCUMENTS = 100;
/** Columns are qualified by their table: an alias of the same name would hide them. */
const STORED = `
SELECT d.slot AS slot, d.app_version AS app_version, toString(d.hash) AS hash FROM api_documents_v1 AS d FINAL
WHERE d.app_id = {app_id:UInt32} ORDER BY d.received_at`;

interface StoredDocument {
  slot: number;
  app_version: string;
  hash: string;
}

/** One row of `api_documents_v1`. */
export interface ApiDocumentRow extends StoredDocument, ApiDocument {
  app_id: number;
  received_at: string;
}

/**
 * Chooses the documents to store: the newest of each version of an app, in a number of slots. The caller
 * holds the claim on the documents of the app, so that only one writer chooses at a time.
 */
export class ApiDocuments {
  constructor(private readonly store: ClickHouse) {}

  /** The rows for the documents of messages that are not in the store as they are. */
  async findNew(app_id: number, messages: readonly Message[]): Promise<ApiDocumentRow[]> {
    const documents = new Map<string, ApiDocument>();
    for (const { apiDocument, report } of messages) {
      if (!apiDocument) continue;
      const app_version = report?.app_version ?? '';
      documents.delete(app_version);
      documents.set(app_version, apiDocument);
    }
    if (documents.size === 0) return [];
    const newest = new Map([...documents].slice(-MAX_DOCUMENTS));
    const stored = await this.store.rows<StoredDocument>('api_documents.find', STORED, { app_id });
    const received_at = dateTime64(Date.now());
    const rows: ApiDocumentRow[] = [];
    for (const [app_version, apiDocument] of newest) {
      const hash = hashUuid(`${apiDocument.document}\n${apiDocument.routes}`);
      const found = stored.find((row) => row.app_version === app_version);
      if (found?.hash === hash) continue;
      const slot = found?.slot ?? takeSlot(stored, newest);
      if (!found) stored.push({ slot, app_version, hash });
      rows.push({ app_id, slot, app_version, received_at, hash, ...apiDocument });
    }
    return rows;
  }
}

/** A free slot, or that of the oldest document, which is removed from the list. */
function takeSlot(stored: StoredDocument[], newest: ReadonlyMap<string, ApiDocument>): number {
  const used = new Set(stored.map(({ slot }) => slot));
  for (let slot = 0; slot < MAX_DOCUMENTS; slot++) if (!used.has(slot)) return slot;
  const oldest = stored.findIndex(({ app_version }) => !newest.has(app_version));
  const [taken] = stored.splice(oldest, 1);
  return taken?.slot ?? 0;
}
