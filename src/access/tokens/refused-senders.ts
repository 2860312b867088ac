import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Config } from '../../config/config.js';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import { toClientKey } from '../rate-limit/client-key.js';

/** Why a sender is refused. */
export type RefusalCause =
  | 'no_token'
  | 'api_key'
  | 'unknown_token'
  | 'revoked_token'
  | 'unknown_client'
  | 'disabled_app'
  | 'wrong_port'
  | 'grpc';

/** The refusals of one sender at one route for one cause, as the store has them. */
export interface RefusedSender {
  /** The last one, ISO 8601. */
  refused_at: string;
  address: string;
  route: string;
  cause: RefusalCause;
}

interface Refusals extends Omit<RefusedSender, 'refused_at'> {
  /** The last one, in seconds since the epoch. */
  refused_at: number;
  app_id: number;
}

const LOG_EVERY_MS = 60_000;
const SAVE_AFTER_MS = 500;
const SAVE_EVERY_MS = 5_000;
/** Further senders of a minute are only counted: a flood of addresses fills neither the log nor the store. */
const MAX_SENDERS = 200;
const MAX_READ = 50;
const RECENT_MINUTES = 15;

const READ = (columns: string, condition: string) => `
SELECT max(r.refused_at) AS refused_at, ${columns} FROM refused_senders_v1 AS r
WHERE r.refused_at > now('UTC') - INTERVAL ${RECENT_MINUTES} MINUTE${condition}
GROUP BY ${columns} ORDER BY refused_at DESC, ${columns} LIMIT ${MAX_READ}`;

/** The refusals of the last 15 minutes, the last one first; at most 50. */
export function readRefusedSenders(store: ClickHouse): Promise<RefusedSender[]> {
  return store.rows<RefusedSender>('refused_senders.read', READ('address, route, cause', ''));
}

/**
 * The same for one app: refusals of its own senders, and of senders of which no app is known. Without
 * addresses, because such a sender may belong to another team.
 */
export const REFUSALS_OF_APP = READ('route, cause', ' AND app_id IN (0, {app_id:UInt32})');

/** What was wrong, and what to do. Both are parts of a sentence. */
export function explainRefusal(
  { program, collector }: Config,
  cause: RefusalCause,
): { reason: string; cure: string } {
  const create = `create one with ${program} write-token create --app ID`;
  switch (cause) {
    case 'no_token':
      return {
        reason: 'it sent no write token',
        cure: 'set OTEL_EXPORTER_OTLP_HEADERS to authorization=Bearer apt_…',
      };
    case 'api_key':
      return { reason: 'it sent an API key, which only reads, instead of a write token', cure: create };
    case 'unknown_token':
      return { reason: 'its write token is unknown', cure: create };
    case 'revoked_token':
      return { reason: 'its write token was revoked', cure: create };
    case 'unknown_client':
      return { reason: 'its client ID is unknown', cure: `${program} app list --team ID has those of apps` };
    case 'disabled_app':
      return { reason: 'its app is disabled', cure: `${program} app enable --app ID enables it` };
    case 'grpc':
      return {
        reason: 'it speaks gRPC, and this port HTTP',
        cure: `set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf, or send to COLLECTOR_GRPC_PORT (${collector.grpcPort ?? 'off'})`,
      };
    case 'wrong_port':
      return {
        reason: 'this port serves the API and takes no data',
        cure: `send to the collector, on port ${collector.port} (COLLECTOR_PORT)`,
      };
  }
}

/**
 * Says in the log, once a minute for each sender and cause, that a sender was refused, because SDKs say
 * nothing to their users. Also keeps it in the store for `doctor` and the dashboard. What was sent is in
 * neither.
 */
@Injectable()
export class RefusedSenders implements OnApplicationShutdown {
  private readonly log = new Logger('RefusedSenders');
  /** Never evicts: a flood of addresses does not push out the sender whose operator reads the log. */
  private readonly senders = new LRUCache<string, Refusals>({ max: MAX_SENDERS, ttl: LOG_EVERY_MS });
  private readonly unsaved = new Set<Refusals>();
  private unnamed = 0;
  private saving?: NodeJS.Timeout | undefined;
  private savedAt = -Infinity;

  constructor(
    private readonly store: ClickHouse,
    private readonly config: Config,
  ) {}

  /** @param appId of a sender whose app is known */
  report(
    { ip, route }: { readonly ip?: string | undefined; readonly route?: { readonly path: string } },
    cause: RefusalCause,
    appId = 0,
  ): void {
    const address = toClientKey(ip);
    // The pattern of the route: paths have client IDs.
    const { path } = route ?? { path: 'an unknown path' };
    const key = [address, path, cause, appId].join(' ');
    let sender = this.senders.get(key);
    if (!sender) {
      this.senders.purgeStale();
      if (this.senders.size === MAX_SENDERS) {
        this.unnamed += 1;
        return;
      }
      sender = { address, route: path, cause, refused_at: 0, app_id: appId };
      this.senders.set(key, sender);
      this.warn(sender);
    }
    sender.refused_at = Math.floor(Date.now() / 1000);
    this.unsaved.add(sender);
    const delayMs = Math.max(SAVE_AFTER_MS, this.savedAt + SAVE_EVERY_MS - performance.now());
    this.saving ??= setTimeout(() => void this.save(), delayMs).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.saving) await this.save();
  }

  private warn({ address, route, cause, app_id }: Refusals): void {
    if (this.unnamed > 0)
      this.log.warn(`${this.unnamed} more requests of other senders were refused in the last minute`);
    this.unnamed = 0;
    const { reason, cure } = explainRefusal(this.config, cause);
    const app = app_id === 0 ? '' : ` (app ${app_id})`;
    this.log.warn(`a sender at ${address} was refused at ${route}: ${reason}${app}; ${cure}`);
  }

  private async save(): Promise<void> {
    clearTimeout(this.saving);
    this.saving = undefined;
    this.savedAt = performance.now();
    const rows = Array.from(this.unsaved, (sender) => JSON.stringify(sender));
    this.unsaved.clear();
    try {
      await this.store.insert('refused_senders_v1', rows);
    } catch (error) {
      // The account of an API that only reads may not insert. The log has the refusals.
      this.log.debug(error instanceof Error ? error.message : error);
    }
  }
}
