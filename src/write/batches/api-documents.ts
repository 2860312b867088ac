import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { hashUuid } from '../../shared/hash-uuid.js';
import type { ApiDocument } from './message.js';

/** Largest number of documents of an app that are kept. */
const MAX_DOCUMENTS = 100;
/** Columns are qualified by their table: an alias of the same name would hide them. */
const STORED = `
SELECT d.slot AS slot, d.app_env_id AS app_env_id, d.is_imported AS is_imported, d.app_version AS app_version, toString(d.hash) AS hash
FROM api_documents_v1 AS d FINAL
WHERE d.app_id = {app_id:UInt32} ORDER BY d.received_at`;

/** What a document describes. */
interface DocumentSubject {
  /** 0: all environments. */
  app_env_id: number;
  is_imported: boolean;
  app_version: string;
}

interface StoredDocument extends DocumentSubject {
  slot: number;
  hash: string;
}

/** One row of `api_documents_v1`. */
export interface ApiDocumentRow extends StoredDocument, ApiDocument {
  app_id: number;
  received_at: number;
}

/**
 * Chooses the documents to store: the newest of each environment and version of an app, in a number of slots.
 * The caller holds the claim on the documents of the app, so that only one writer chooses at a time.
 */
export class ApiDocuments {
  constructor(private readonly store: ClickHouse) {}

  /** The claim on the documents of an app. */
  static claim(appId: number): string {
    return `documents/${appId}`;
  }

  /**
   * The rows for the documents that are not in the store as they are, or no longer the newest there.
   *
   * @param documents in the order of their arrival
   */
  async findNew(
    app_id: number,
    documents: readonly (DocumentSubject & ApiDocument)[],
  ): Promise<ApiDocumentRow[]> {
    if (documents.length === 0) return [];
    const bySubject = new Map<string, DocumentSubject & ApiDocument>();
    for (const document of documents) {
      bySubject.delete(nameSubject(document));
      bySubject.set(nameSubject(document), document);
    }
    const newest = new Map([...bySubject].slice(-MAX_DOCUMENTS));
    const stored = await this.store.rows<StoredDocument>('api_documents.find', STORED, { app_id });
    const now = Date.now();
    const rows: ApiDocumentRow[] = [];
    for (const [name, document] of newest) {
      const { app_env_id, is_imported } = document;
      const hash = hashUuid(`${document.document}\n${document.routes}`);
      const found = stored.find((row) => nameSubject(row) === name);
      const latest = stored.findLast(
        (row) => row.app_env_id === app_env_id && row.is_imported === is_imported,
      );
      // After a roll-back the document of an earlier version is the newest again.
      if (found?.hash === hash && found === latest) continue;
      const slot = found ? found.slot : takeSlot(stored, newest);
      if (found) stored.splice(stored.indexOf(found), 1);
      stored.push({ ...document, slot, hash });
      // A millisecond apart, so that the last one is the newest.
      const received_at = now + rows.length;
      rows.push({ app_id, slot, received_at, hash, ...document });
    }
    return rows;
  }
}

function nameSubject({ app_env_id, is_imported, app_version }: DocumentSubject): string {
  return `${app_env_id} ${is_imported} ${app_version}`;
}

/** A free slot, or that of the oldest document, which is removed from the list. */
function takeSlot(stored: StoredDocument[], newest: ReadonlyMap<string, unknown>): number {
  const used = new Set(stored.map(({ slot }) => slot));
  for (let slot = 0; slot < MAX_DOCUMENTS; slot++) if (!used.has(slot)) return slot;
  const oldest = stored.findIndex((row) => !newest.has(nameSubject(row)));
  const [taken] = stored.splice(oldest, 1);
  return taken?.slot ?? 0;
}
