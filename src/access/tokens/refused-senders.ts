import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { createCache } from '../../shared/create-cache.js';
import { Config } from '../../config/config.js';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import { toClientKey } from '../rate-limit/client-key.js';
import { type RefusalCause, type RefusedSender, explainRefusal } from './refusals.js';

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

/**
 * Says in the log, once a minute for each sender and cause, that a sender was refused, because SDKs say
 * nothing to their users. Also keeps it in the store for `doctor` and the dashboard. What was sent is in
 * neither.
 */
@Injectable()
export class RefusedSenders implements OnApplicationShutdown {
  private readonly log = new Logger('RefusedSenders');
  /** Never evicts: a flood of addresses does not push out the sender whose operator reads the log. */
  private readonly senders = createCache<string, Refusals>(MAX_SENDERS, { ttl: LOG_EVERY_MS });
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
