import { CachedLookup } from '../shared/cached-lookup.js';

const IDENTIFIERS_TTL_MS = 1_000;

/** Queries for credentials of one kind: API keys, client IDs, write tokens. */
interface CredentialQueries<Row> {
  /** The row of a credential; undefined or null if it does not exist. Only null is cached. */
  readonly load: (identifier: string) => Promise<Row>;
  /** The identifiers of all credentials. */
  readonly listIdentifiers: () => Promise<readonly string[]>;
}

/** Credentials by identifier, cached for a few seconds: a revocation takes effect within 10 s. */
export class CredentialLookup<Row> {
  private readonly rows: CachedLookup<Row>;
  private readonly identifiers = new CachedLookup<ReadonlySet<string>>(IDENTIFIERS_TTL_MS);

  constructor(
    ttlMs: number,
    private readonly queries: CredentialQueries<Row>,
  ) {
    this.rows = new CachedLookup(ttlMs);
  }

  find(identifier: string): Promise<Row> {
    return this.rows.find(identifier, () => this.queries.load(identifier));
  }

  /** Whether the cache has the credential; does not query the store. */
  isCached(identifier: string): boolean {
    return this.rows.peek(identifier) != null;
  }

  /**
   * All identifiers, from a list that is at most a second old: a flood of guesses costs one query a second.
   */
  listIdentifiers(): Promise<ReadonlySet<string>> {
    return this.identifiers.find('', async () => new Set(await this.queries.listIdentifiers()));
  }
}
