import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Account } from '../auth/account.js';
import { unlessAborted } from '../clickhouse/patience.js';
import { appNotFound } from '../common/http/api-error.js';
import { Config } from '../config/config.js';
import type { AppList } from './apps.dto.js';
import { AppsRepository } from './apps.repository.js';

/**
 * An app that was found to belong to the asking team. The class is not exported: only `AppsService.require` makes
 * one, and no query of an app's data compiles without it.
 */
class CheckedAppScope {
  readonly #checked = true;
  constructor(
    readonly teamId: number,
    readonly appId: number,
    /** Endpoints left out of logs, details and traffic (contract, section 8). */
    readonly excludedEndpointIds: readonly number[],
    /** Aborts when the request is over. */
    readonly patience: AbortSignal | undefined,
  ) {}
  /** Keeps the type nominal: no object literal can stand in for it. */
  get checked() {
    return this.#checked;
  }
}
export type AppScope = CheckedAppScope;

@Injectable()
export class AppsService {
  /** Marks of excluded endpoints take effect within 10 s (contract, section 8), so this lives for less. */
  private readonly scopes?: LRUCache<string, { excluded: number[] | null }, AbortSignal | undefined>;

  constructor(
    private readonly repository: AppsRepository,
    config: Config,
  ) {
    if (config.cacheTtlMs === 0) return;
    this.scopes = new LRUCache({
      max: 10_000,
      ttl: config.cacheTtlMs,
      fetchMethod: async (key, _, { context }) => {
        const [teamId, appId] = key.split('/').map(Number) as [number, number];
        return { excluded: await this.repository.findExcluded(teamId, appId, context) };
      },
    });
  }

  async list({ teamId, patience }: Account): Promise<AppList> {
    return { data: await this.repository.list(teamId, patience) };
  }

  /** The scope for reading an app's data; 404 when it is unknown or another team's, which look the same. */
  async require({ teamId, patience }: Account, appId: number): Promise<AppScope> {
    // One look-up serves all who ask at once: it goes on when one of them leaves.
    const excluded = await unlessAborted(patience, this.excluded(teamId, appId, patience));
    if (!excluded) throw appNotFound();
    return new CheckedAppScope(teamId, appId, excluded, patience);
  }

  private async excluded(teamId: number, appId: number, asker?: AbortSignal): Promise<number[] | null> {
    if (!this.scopes) return this.repository.findExcluded(teamId, appId, asker);
    return (await this.scopes.fetch(`${teamId}/${appId}`, { context: asker }))?.excluded ?? null;
  }
}
