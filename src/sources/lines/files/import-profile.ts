import { isStaticAsset } from '../../decoding/log-exclusion.js';
import type { RequestRecord } from '../../../records/request-record.js';

/** Largest number of hosts in the summary. */
const MAX_HOSTS = 10;
const HOST = /^https?:\/\/([^/?#]*)/;

/** Why requests are counted and not logged. */
export interface NotLogged {
  static_assets?: number;
  health_checks?: number;
  older_than_15_days?: number;
}

/** A profile of an import's requests, including requests that the store already had. */
export interface ProfileSummary {
  /** Times of the first and the last request, ISO 8601; null if there is none. */
  from: string | null;
  to: string | null;
  /** The first hosts, and `…` if there are more. */
  hosts: readonly string[];
  /** Requests with a response time. */
  with_response_time: number;
  not_logged: NotLogged;
}

/** Collects the figures that explain the result of an import. */
export class ImportProfile {
  private first = Infinity;
  private last = -Infinity;
  private withTime = 0;
  private readonly hosts = new Set<string>();
  private readonly notLogged: NotLogged = {};

  /** A valid request, whether or not the store has it already. */
  add({
    timestamp,
    url,
    response_time_ms,
  }: Pick<RequestRecord, 'timestamp' | 'url' | 'response_time_ms'>): void {
    this.first = Math.min(this.first, timestamp);
    this.last = Math.max(this.last, timestamp);
    if (response_time_ms !== null) this.withTime += 1;
    if (url.startsWith('/') || this.hosts.size > MAX_HOSTS) return;
    const host = HOST.exec(url)?.[1];
    if (host !== undefined) this.hosts.add(host);
  }

  /** A request that was imported and not logged. */
  addNotLogged({ excluded_from_logs, url }: RequestRecord): void {
    const reason = !excluded_from_logs
      ? 'older_than_15_days'
      : isStaticAsset(url)
        ? 'static_assets'
        : 'health_checks';
    this.notLogged[reason] = (this.notLogged[reason] ?? 0) + 1;
  }

  summarize(): ProfileSummary {
    const toText = (time: number) => (Number.isFinite(time) ? new Date(time).toISOString() : null);
    const hosts = [...this.hosts];
    return {
      from: toText(this.first),
      to: toText(this.last),
      hosts: hosts.length > MAX_HOSTS ? [...hosts.slice(0, MAX_HOSTS), '…'] : hosts,
      with_response_time: this.withTime,
      not_logged: this.notLogged,
    };
  }
}
