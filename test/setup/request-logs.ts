import { createAdmin } from '../../src/ops/admin/admin.js';
import { AppScopedStore } from '../../src/api/apps/app-scoped-store.js';
import { AppsRepository } from '../../src/api/apps/apps.repository.js';
import { type AppScope, AppsService } from '../../src/api/apps/apps.service.js';
import type { JsonLines } from '../../src/store/client/json-lines.js';
import { ALL_SCOPES, type Account } from '../../src/platform/http/account.js';
import { RequestLogsRepository } from '../../src/api/request-logs/request-logs.repository.js';
import type { OpenStore } from './store.js';

/** The request logs of a new app, without an application around them. */
export async function createRequestLogs({
  store,
  config,
}: OpenStore): Promise<{ scope: AppScope; repository: RequestLogsRepository }> {
  const admin = createAdmin(store);
  const { id, name } = await admin.teams.create('Acme', 'premium');
  const app = await admin.apps.create(id, 'Shop', 'express');
  const account: Account = {
    teamId: id,
    teamName: name,
    plan: 'premium',
    keyIdentifier: 'x',
    scopes: ALL_SCOPES,
  };
  const scope = await new AppsService(new AppsRepository(store), config).require(account, app.id);
  return { scope, repository: new RequestLogsRepository(new AppScopedStore(store)) };
}

/** Each row's text. */
export function toTexts(rows: JsonLines): string[] {
  return Array.from({ length: rows.length }, (_, index) => rows.at(index));
}
