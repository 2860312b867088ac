import { Injectable } from '@nestjs/common';
import { trafficRetainedFrom } from '../../config/retention.js';
import type { Account } from '../../platform/http/account.js';
import { createIssue, valueError } from '../../platform/input/issues.js';
import { ValidationException } from '../../platform/input/validation.exception.js';
import { JsonResponse } from '../../platform/http/json-response.js';
import { getTokenWindow, resolveCursorWindow } from '../../platform/paging/page-cursor.js';
import { PageTokens } from '../../platform/paging/page-tokens.js';
import { framePage } from '../../platform/paging/page.dto.js';
import type { Predicate } from '../../queries/predicates.js';
import { type AppScope, AppsService } from '../apps/apps.service.js';
import type { ListReleasesInput } from './releases.input.js';
import { type ReleaseKey, ReleasesRepository } from './releases.repository.js';
import { type VersionSpan, buildTimeline } from './version-timeline.js';

/** Each run has a beginning and an end. */
const MAX_CHANGES = 10_000;

@Injectable()
export class ReleasesService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: ReleasesRepository,
    private readonly tokens: PageTokens,
  ) {}

  /** A page. A key of one consumer sees none, because releases are no consumer's data. */
  async list(account: Account, input: ListReleasesInput): Promise<JsonResponse> {
    const { app_id, app_env_id, cursor, limit } = input;
    const scope = await this.apps.require(account, app_id);
    if (scope.consumerId !== undefined) return new JsonResponse(framePage([], undefined), false);
    const window = resolveCursorWindow(input, trafficRetainedFrom(cursor.now));
    const after = cursor.token?.after as ReleaseKey | undefined;
    const rows = await this.repository.page(scope, { app_env_id, window, after, limit: limit + 1 });
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    const token =
      rows.length > limit && last
        ? await this.tokens.signNext(input.fingerprint, scope, {
            ...getTokenWindow(cursor, window),
            after: [Date.parse(last.first_seen), last.version, last.app_env_id],
          })
        : undefined;
    const lines = shown.map(({ app_env_id: _, ...release }) => JSON.stringify(release));
    return new JsonResponse(framePage(lines, token), false, token);
  }

  /**
   * Which version each environment ran; none for a key of one consumer.
   *
   * @param body of the request
   * @throws ValidationException if there are more versions than a statement can tell apart
   */
  async findTimeline(scope: AppScope, body: object): Promise<VersionSpan[]> {
    if (scope.consumerId !== undefined) return [];
    const changes = await this.repository.findChanges(scope, MAX_CHANGES + 1);
    if (changes.length <= MAX_CHANGES) return buildTimeline(changes);
    const reason = `app_version is not possible: versions began and ended more than ${MAX_CHANGES} times`;
    throw new ValidationException([createIssue('body', [], body, valueError(reason))]);
  }

  /**
   * When a version began, in milliseconds since the epoch; undefined if it is no release of the app, or the
   * key is one of a consumer.
   *
   * @param envs conditions on its environments
   */
  async findBegin(
    account: Account,
    appId: number,
    version: string,
    envs: readonly Predicate[],
  ): Promise<number | undefined> {
    const scope = await this.apps.require(account, appId);
    return scope.consumerId === undefined ? this.repository.findBegin(scope, version, envs) : undefined;
  }
}
