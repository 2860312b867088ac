import { Injectable } from '@nestjs/common';
import { raceAbort } from '../../shared/async/race-abort.js';
import type { Account } from '../../platform/http/account.js';
import { CachedLookup } from '../../shared/cached-lookup.js';
import { RequestContext, type RequestLogFields } from '../../telemetry/request-context.js';
import { Config } from '../../config/config.js';
import { appNotFound } from '../../platform/http/api-error.js';
import type { FileResponse } from '../../platform/http/file-response.js';
import { streamList } from '../../platform/http/streamed-list.js';
import type { App, AppList } from './apps.dto.js';
import { APPS_PER_READ, AppsRepository, type EndpointMarks, type ExpectedError } from './apps.repository.js';

/**
 * Proof that an app belongs to the requesting team. The class is not exported: only `AppsService.require`
 * creates one, and queries of an app's data do not compile without it.
 */
class CheckedAppScope {
  readonly #checked = true;
  constructor(
    readonly teamId: number,
    readonly appId: number,
    /** Endpoints left out of logs, details and traffic (docs/contract.md#excluded-endpoints). */
    readonly excludedEndpointIds: readonly number[],
    /** Statuses of endpoints that are not errors (docs/contract.md#expected-errors). */
    readonly expectedErrors: readonly ExpectedError[],
    /** The only consumer whose data is shown (docs/contract.md#key-scopes); undefined: all data. */
    readonly consumerId: number | undefined,
    /** Its identifier; null: all data. */
    readonly consumer: string | null,
  ) {}
  /** Makes the type nominal: no object literal is assignable. */
  get checked() {
    return this.#checked;
  }
}
export type AppScope = CheckedAppScope;

/** How well a name in an app matches the searched text. */
export type Match = 'exact' | 'contains' | 'similar';

@Injectable()
export class AppsService {
  /**
   * Marks of endpoints by app; null: the app is not the team's. Changes take effect within 10 s
   * (docs/contract.md#excluded-endpoints, docs/contract.md#expected-errors).
   */
  private readonly marks: CachedLookup<EndpointMarks | null>;
  /** IDs of consumers by app and identifier, for keys of one consumer. */
  private readonly consumerIds: CachedLookup<number>;

  constructor(
    private readonly repository: AppsRepository,
    { cacheTtlMs }: Config,
  ) {
    this.marks = new CachedLookup(cacheTtlMs);
    this.consumerIds = new CachedLookup(cacheTtlMs);
  }

  list({ teamId, scopes }: Account): Promise<AppList | FileResponse> {
    return streamList(this.repository.list(teamId, scopes), APPS_PER_READ);
  }

  /** All apps that the account may read, by ID. */
  async listAll({ teamId, scopes }: Account): Promise<App[]> {
    const apps: App[] = [];
    for await (const read of this.repository.list(teamId, scopes)) apps.push(...read);
    return apps;
  }

  /**
   * The scope for reading an app's data; the same 404 if the app does not exist, belongs to another team or
   * is outside the key's scopes.
   *
   * @param read the requested data, for the log line of the request
   */
  async require(
    { teamId, scopes: { appIds, consumer } }: Account,
    appId: number,
    read: Omit<RequestLogFields, 'app_id'> = {},
  ): Promise<AppScope> {
    if (appIds.length > 0 && !appIds.includes(appId)) throw appNotFound();
    const lookup = Promise.all([
      this.marks.find(`${teamId}/${appId}`, () => this.repository.findMarks(teamId, appId)),
      consumer === null
        ? undefined
        : this.consumerIds.find(`${appId}/${consumer}`, () =>
            this.repository.findConsumerId(appId, consumer),
          ),
    ]);
    // Other requests may wait for the same lookup, so it continues when this one ends.
    const context = RequestContext.current;
    const [marks, consumerId] = await raceAbort(context?.signal, lookup);
    if (!marks) throw appNotFound();
    if (context) Object.assign(context.logFields, { app_id: appId, ...read });
    return new CheckedAppScope(
      teamId,
      appId,
      marks.excluded_endpoint_ids,
      marks.expected_errors,
      consumerId,
      consumer,
    );
  }
}
