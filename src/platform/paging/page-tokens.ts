import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import { StoreUnavailable } from '../../store/client/clickhouse.errors.js';
import { Config } from '../../config/config.js';

/** The fingerprint of a query; a token is valid only for queries with the same fingerprint. */
export interface QueryFingerprint {
  operation: 'consumers' | 'instances' | 'releases' | 'request-logs' | 'traffic';
  teamId: number;
  appId: number;
  /** The only consumer that the key sees; undefined or null: all. */
  consumer?: string | null;
  /** The filters in a normalized form. */
  filters: readonly (string | number | null)[];
}

/** The fingerprint of an input's query, without the team and the app. */
export type InputFingerprint = Omit<QueryFingerprint, 'teamId' | 'appId' | 'consumer'>;

/** The content of a token. All of it is signed; nothing in it is secret. */
export interface TokenContent {
  /**
   * The window with its defaults, milliseconds since the epoch: a default "now" does not slide between pages.
   */
  window?: readonly [start: number, end: number];
  /** `start` and `end` as the first request sent them, so that a later page may repeat or omit them. */
  requestedWindow?: readonly [start: number | null, end: number | null];
  /** Key of the last record of the page. */
  after: readonly (string | number)[];
}

interface Envelope extends TokenContent {
  fingerprint: string;
}

const SIGNATURE_BYTES = 16;
const SIGNATURE_LENGTH = Math.ceil((SIGNATURE_BYTES * 8) / 6);
const SECRET = `SELECT value FROM secrets_v1 WHERE name = 'page_token' ORDER BY created_at, value LIMIT 1`;

/**
 * Signs and verifies `next_token`: opaque, URL-safe, signed, and bound to team, app, operation and filters
 * (docs/contract.md#page-token).
 *
 * All instances share one secret: `TOKEN_SECRET`, or the secret in the store.
 */
@Injectable()
export class PageTokens implements OnModuleInit {
  private secret = '';

  constructor(
    private readonly store: ClickHouse,
    private readonly config: Config,
  ) {}

  /** Not awaited: the service starts without its store, and `ensureSecret` retries. */
  onModuleInit() {
    this.loadSecret().catch(() => undefined);
  }

  /** Ensures that tokens can be signed; retries if the store was unavailable at the start. */
  async ensureSecret(): Promise<void> {
    if (this.secret === '') await this.loadSecret();
  }

  /** The token of the next page of a query on an app. */
  async signNext(
    input: InputFingerprint,
    { teamId, appId, consumer }: Pick<QueryFingerprint, 'teamId' | 'appId' | 'consumer'>,
    content: TokenContent,
  ): Promise<string> {
    await this.ensureSecret();
    return this.sign({ ...input, teamId, appId, consumer }, content);
  }

  sign(fingerprint: QueryFingerprint, content: TokenContent): string {
    const envelope: Envelope = { fingerprint: digest(fingerprint), ...content };
    const payload = Buffer.from(JSON.stringify(envelope)).toString('base64url');
    return payload + this.computeSignature(payload);
  }

  /** The verified content of a token, not yet compared with a query; undefined for an invalid token. */
  verify(token: string): Envelope | undefined {
    const payload = token.slice(0, -SIGNATURE_LENGTH);
    const signature = Buffer.from(token.slice(-SIGNATURE_LENGTH));
    const expected = Buffer.from(this.computeSignature(payload));
    // Compares the texts, not the decoded bytes, because several texts decode to the same bytes.
    if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return undefined;
    return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Envelope;
  }

  /** Whether a verified token belongs to this query. */
  matches(envelope: Envelope, fingerprint: QueryFingerprint): boolean {
    return envelope.fingerprint === digest(fingerprint);
  }

  private computeSignature(payload: string): string {
    if (this.secret === '') throw new Error('Page tokens have no secret yet');
    const bytes = createHmac('sha256', this.secret).update(payload).digest().subarray(0, SIGNATURE_BYTES);
    return bytes.toString('base64url');
  }

  private async loadSecret() {
    const rows = this.config.tokenSecret
      ? [{ value: this.config.tokenSecret }]
      : await this.store.rows<{ value: string }>('secrets.page_token', SECRET);
    if (!rows[0]) throw new StoreUnavailable('the store has no secret for page tokens yet');
    this.secret = rows[0].value;
  }
}

function digest({ operation, teamId, appId, consumer, filters }: QueryFingerprint): string {
  const text = JSON.stringify([operation, teamId, appId, filters, ...(consumer == null ? [] : [consumer])]);
  return hash('sha256', text, 'base64url').slice(0, 22);
}
