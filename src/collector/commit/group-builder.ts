import { randomUUID } from 'node:crypto';
import type { Directories } from '../../ingestion/directories.js';
import type { Resolved } from '../../ingestion/directory.js';
import { dateTime64 } from '../../ingestion/ids.js';
import type { CountRecord, RequestRecord } from '../../ingestion/request-record.js';
import { countRow, loggedRow } from '../../ingestion/rows.js';
import type { ClientApp, ClientApps } from '../client-apps.js';
import type { Message } from '../message.js';
import type { Group, MessageKey, Rows } from './ingest.ledger.js';
import type { LoggedItemsRepository } from './logged-items.repository.js';

/** A message on its way into the store. */
export interface AppMessage extends MessageKey {
  app: ClientApp;
  message: Message;
}

/** A logged request of which the store has nothing yet, as far as its identity goes. */
type LogItem = RequestRecord & { app_id: number };

/** Makes messages a group: registers what they name and turns the rest into rows. */
export class GroupBuilder {
  constructor(
    private readonly directories: Directories,
    private readonly apps: ClientApps,
    private readonly items: LoggedItemsRepository,
  ) {}

  async build(messages: readonly AppMessage[]): Promise<Group> {
    const logs = await this.freshLogs(messages);
    const rows: Rows[] = [];
    for (const [appId, own] of byApp(messages)) {
      await this.learnFrameworks(own);
      rows.push(await this.rowsOf(appId, own, logs.get(appId) ?? []));
    }
    return {
      id: randomUUID(),
      createdAt: dateTime64(Date.now()).slice(0, 19),
      messages: messages.map(({ app_id, message_uuid }) => ({ app_id, message_uuid })),
      rows: together(rows),
    };
  }

  /** Logged requests that neither the store nor another message of the group has, by app. */
  private async freshLogs(messages: readonly AppMessage[]): Promise<Map<number, LogItem[]>> {
    const items = messages.flatMap(({ app_id, message }) => message.logs.map((log) => ({ ...log, app_id })));
    return byApp(await this.items.fresh(items));
  }

  private async learnFrameworks(messages: readonly AppMessage[]): Promise<void> {
    const last = messages.findLast(({ message }) => message.framework !== null);
    const framework = last?.message.framework;
    if (last && framework && framework !== last.app.framework)
      await this.apps.learnFramework(last.app, framework);
  }

  private async rowsOf(appId: number, own: readonly AppMessage[], logs: readonly LogItem[]): Promise<Rows> {
    const directory = await this.directories.get(appId);
    const messages = own.map(({ message }) => message);
    // Names come first: those of consumers are not said again with their counts.
    const named = await directory.resolve(messages.flatMap(({ names }) => names));
    const counts = await directory.resolve(messages.flatMap((message) => message.counts));
    const logged = await directory.resolve(logs);
    const envIds = new Map(named.map(({ record, ids }) => [record.env, ids.app_env_id]));
    return {
      request_counts: counts.map(({ record, ids }) => countText(appId, { record, ids })),
      logged_requests: logged.map(({ record, ids }) => JSON.stringify(loggedRow(appId, record, ids))),
      env_activity_v1: activityOf(appId, messages, envIds),
    };
  }
}

function countText(appId: number, { record, ids }: Resolved<CountRecord>): string {
  return JSON.stringify(countRow(appId, record, ids));
}

/** One row for each environment that was synchronized: what is counted moves its time as well, and nothing else does. */
function activityOf(appId: number, messages: readonly Message[], envIds: Map<string, number>): string[] {
  const counted = new Set(messages.filter(({ counts }) => counts.length > 0).map(({ env }) => env));
  const idle = new Map<string, number>();
  for (const { env, syncedAt } of messages)
    if (syncedAt !== null && !counted.has(env)) idle.set(env, Math.max(syncedAt, idle.get(env) ?? 0));
  return [...idle].map(([env, syncedAt]) =>
    JSON.stringify({ app_id: appId, app_env_id: envIds.get(env), last_sync_at: dateTime64(syncedAt) }),
  );
}

function byApp<T extends { app_id: number }>(all: readonly T[]): Map<number, T[]> {
  const apps = new Map<number, T[]>();
  for (const one of all) {
    const own = apps.get(one.app_id);
    if (own) own.push(one);
    else apps.set(one.app_id, [one]);
  }
  return apps;
}

/** The rows of all apps by door, doors without rows left out. */
function together(parts: readonly Rows[]): Rows {
  const rows: Rows = {};
  for (const door of ['request_counts', 'logged_requests', 'env_activity_v1'] as const) {
    const all = parts.flatMap((part) => part[door] ?? []);
    if (all.length > 0) rows[door] = all;
  }
  return rows;
}
