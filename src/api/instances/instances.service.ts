import { Injectable } from '@nestjs/common';
import { AppsService } from '../apps/apps.service.js';
import { trafficRetainedFrom } from '../../config/retention.js';
import type { Account } from '../../platform/http/account.js';
import { JsonResponse } from '../../platform/http/json-response.js';
import { getTokenWindow, resolveCursorWindow } from '../../platform/paging/page-cursor.js';
import { PageTokens } from '../../platform/paging/page-tokens.js';
import { framePage } from '../../platform/paging/page.dto.js';
import { NIL_UUID } from '../../shared/nil-uuid.js';
import type { Instance } from './instances.dto.js';
import type { ListInstancesInput } from './instances.input.js';
import { type InstanceKey, InstancesRepository } from './instances.repository.js';

/** Client libraries report each minute, and SDKs as often by default. */
const SILENT_AFTER_MS = 600_000;

@Injectable()
export class InstancesService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: InstancesRepository,
    private readonly tokens: PageTokens,
  ) {}

  /** A page. A key of one consumer sees none, because a process has requests of many. */
  async list(account: Account, input: ListInstancesInput): Promise<JsonResponse> {
    const { app_id, app_env_id, cursor, limit, periods } = input;
    const scope = await this.apps.require(account, app_id);
    if (scope.consumerId !== undefined) return new JsonResponse(framePage([], undefined), false);
    const window = resolveCursorWindow(input, trafficRetainedFrom(cursor.now));
    const after = cursor.token?.after as InstanceKey | undefined;
    const rows = await this.repository.page(scope, { app_env_id, window, after, limit: limit + 1 });
    const shown = rows.slice(0, limit);
    const uuids = shown.map(({ instance_uuid }) => instance_uuid);
    const step = Math.ceil((window.end - window.start) / periods);
    const [starts, resources] = await Promise.all([
      this.repository.findStarts(scope, uuids),
      this.repository.findResources(scope, uuids, window, step),
    ]);
    const records = shown.map((row): Instance => {
      const isOfRow = (other: { app_env_id: number; instance_uuid: string }) =>
        other.app_env_id === row.app_env_id && other.instance_uuid === row.instance_uuid;
      const start = starts.find(isOfRow);
      return {
        instance_uuid: row.instance_uuid === NIL_UUID ? null : row.instance_uuid,
        env: row.env,
        app_version: row.app_version,
        framework: row.framework,
        client: start?.client ?? null,
        versions: start?.versions ?? {},
        first_seen: row.first_seen,
        last_seen: row.last_seen,
        is_silent: cursor.now - Date.parse(row.last_seen) > SILENT_AFTER_MS,
        resources: resources.filter(isOfRow).map(({ period, cpu_percent, memory_rss_bytes }) => ({
          period_start: new Date(window.start + period * step).toISOString(),
          cpu_percent,
          memory_rss_bytes,
        })),
      };
    });
    const last = shown.at(-1);
    const token =
      rows.length > limit && last
        ? await this.tokens.signNext(input.fingerprint, scope, {
            ...getTokenWindow(cursor, window),
            after: [Date.parse(last.first_seen), last.instance_uuid, last.app_env_id],
          })
        : undefined;
    return new JsonResponse(
      framePage(
        records.map((record) => JSON.stringify(record)),
        token,
      ),
      false,
      token,
    );
  }
}
