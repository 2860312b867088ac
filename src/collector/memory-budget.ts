import { rateLimitExceeded, serviceUnavailable } from '../http/api-error.js';
import type { ClientApp } from './client-apps.js';

/** The shares of the budget that one app, and the apps of one team together, may use. */
const APP_SHARE = 1 / 4;
const TEAM_SHARE = 3 / 4;
const RETRY_AFTER_SECONDS = 1;

/** The memory that one message reserves. */
export interface Reservation {
  /**
   * Changes the reservation to this number of bytes.
   *
   * @throws ApiError 429 if the app or its team would exceed its share, 503 if the budget is exhausted. A message that is
   *   the only one of its team, or of all, is never rejected, because the size of a message is limited.
   */
  resize(bytes: number): void;
  release(): void;
}

/**
 * Memory for messages in flight, in bytes. Each app and each team has a share, so that an app that sends too much, or stalls,
 * affects only itself, and a team only its own apps. This is back-pressure: client libraries buffer and retry, and our heap does
 * not grow.
 */
export class MemoryBudget {
  private total = 0;
  private readonly byApp = new Map<number, number>();
  private readonly byTeam = new Map<number, number>();

  constructor(private readonly max: number) {}

  /** Bytes reserved by all messages. */
  get used(): number {
    return this.total;
  }

  open({ id, team_id }: Pick<ClientApp, 'id' | 'team_id'>): Reservation {
    let own = 0;
    const hold = (bytes: number) => {
      this.total += bytes - own;
      add(this.byApp, id, bytes - own);
      add(this.byTeam, team_id, bytes - own);
      own = bytes;
    };
    const exceeds = (reserved: number, bytes: number, share: number) =>
      reserved > own && reserved - own + bytes > this.max * share;
    return {
      resize: (bytes) => {
        const isOverShare =
          exceeds(this.byApp.get(id) ?? 0, bytes, APP_SHARE) ||
          exceeds(this.byTeam.get(team_id) ?? 0, bytes, TEAM_SHARE);
        if (bytes > own && isOverShare) throw rateLimitExceeded(RETRY_AFTER_SECONDS);
        if (bytes > own && exceeds(this.total, bytes, 1)) throw serviceUnavailable();
        hold(bytes);
      },
      release: () => {
        hold(0);
      },
    };
  }
}

function add(sums: Map<number, number>, key: number, bytes: number): void {
  const sum = (sums.get(key) ?? 0) + bytes;
  if (sum > 0) sums.set(key, sum);
  else sums.delete(key);
}
