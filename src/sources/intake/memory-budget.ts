import { rateLimitExceeded, serviceUnavailable } from '../../platform/http/api-error.js';
import type { ClientApp } from '../../access/tokens/client-apps.js';

/** Shares of the budget: `admitted` for raw messages, `parsed` for the rows of parsed ones. */
interface Share {
  admitted: number;
  parsed: number;
}
/*
 * Parsed rows need several times the memory of the raw message, and a rejected message costs as much as a
 * stored one, each time its sender repeats it. So parsed data gets its own, larger share. One team can fill
 * at most three quarters of it.
 */
const APP_SHARE: Share = { admitted: 1 / 4, parsed: 5 / 16 };
const TEAM_SHARE: Share = { admitted: 3 / 5, parsed: 3 / 4 };
const ALL: Share = { admitted: 1, parsed: 5 / 4 };
const RETRY_AFTER_SECONDS = 1;

/** The memory that one message reserves. */
export interface Reservation {
  /**
   * Sets the reservation of a message that is not parsed yet to `bytes`. Call it again right before the
   * message is parsed.
   *
   * @throws ApiError 429 if the app or its team would exceed its share, 503 if the budget is exhausted. The
   * only message of a team, or of all teams, is never rejected, because the size of a message is limited.
   */
  admit(bytes: number): void;
  /**
   * Changes the reservation of a message while it is parsed and afterwards.
   *
   * @throws ApiError as `admit` does; the share for rows is a quarter larger
   */
  resize(bytes: number): void;
  release(): void;
}

/**
 * Memory for messages in flight, in bytes. Each app and each team has a share. So an app that sends too much,
 * or stalls, affects only itself, and a team affects only its own apps. This is back-pressure: client
 * libraries buffer and retry, and the heap of this process does not grow.
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
    let held = 0;
    const hold = (bytes: number) => {
      this.total += bytes - held;
      add(this.byApp, id, bytes - held);
      add(this.byTeam, team_id, bytes - held);
      held = bytes;
    };
    const requireRoom = (bytes: number, kind: keyof Share) => {
      const exceeds = (reserved: number, share: Share) =>
        reserved > held && reserved - held + bytes > this.max * share[kind];
      if (exceeds(this.byApp.get(id) ?? 0, APP_SHARE) || exceeds(this.byTeam.get(team_id) ?? 0, TEAM_SHARE))
        throw rateLimitExceeded(RETRY_AFTER_SECONDS);
      if (exceeds(this.total, ALL)) throw serviceUnavailable();
    };
    return {
      admit: (bytes) => {
        requireRoom(bytes, 'admitted');
        hold(bytes);
      },
      resize: (bytes) => {
        if (bytes > held) requireRoom(bytes, 'parsed');
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
