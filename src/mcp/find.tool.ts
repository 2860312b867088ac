import type { CallToolResult } from '@modelcontextprotocol/server';
import type { App } from '../api/apps/apps.dto.js';
import type { EndpointList } from '../api/endpoints/endpoints.dto.js';
import type { Match } from '../api/apps/apps.service.js';
import type { Account } from '../platform/http/account.js';
import type { AnalyticsReader } from './analytics-reader.js';
import { findNearest } from '../shared/nearest.js';
import { chooseApp } from './scope.js';
import { type Cell, fitTable } from './tool-result.js';
import { type FindArguments, INVENTORY_KINDS } from './tools.js';

/** Each app takes two queries. */
const MAX_APPS_SEARCHED = 10;
/** Largest number of names per kind and app that are only similar. */
const MAX_SIMILAR = 3;
const MATCHES: readonly Match[] = ['exact', 'contains', 'similar'];

interface Found {
  kind: NonNullable<FindArguments['kind']>;
  app: string;
  /** Null: it has none. */
  id: number | null;
  name: string;
  detail: Cell;
  match: Match;
}

/**
 * Names that match a text: equal names first, then names that contain it. If there are none, similar names.
 */
export async function find(
  reader: AnalyticsReader,
  account: Account,
  { query = '', kind, app: appName, limit, max_tokens }: FindArguments,
): Promise<CallToolResult> {
  const all = await reader.listApps(account);
  const apps = appName === undefined ? all : [chooseApp(all, appName)];
  const searched = apps.slice(0, MAX_APPS_SEARCHED);
  const has = (wanted: Found['kind']) => kind === undefined || kind === wanted;
  const inventoryKind = INVENTORY_KINDS.find((inventory) => inventory === kind);
  const lists: Found[][] = [
    has('app') ? chooseNames(query, apps.map(describeApp)) : [],
    ...(has('env') ? apps.map((app) => chooseNames(query, describeEnvs(app))) : []),
  ];
  for (const { id: appId, name: app } of searched) {
    if (inventoryKind)
      lists.push(
        listOperations(await reader.readInventory(account, appId), inventoryKind)
          .filter(({ name }) => name.toLowerCase().includes(query.toLowerCase()))
          .map((found) => ({ ...found, app, match: found.name === query ? 'exact' : 'contains' })),
      );
    if (has('endpoint'))
      lists.push(
        (await reader.searchEndpoints(account, appId, query, limit)).map(({ id, method, path, match }) => ({
          kind: 'endpoint',
          app,
          id,
          name: path,
          detail: method,
          match,
        })),
      );
    // Only if asked for: most keys with few operations cannot read them.
    if (kind === 'release')
      lists.push(
        chooseNames(
          query,
          (await reader.listReleases(account, appId)).map(({ version, env, first_seen }) => ({
            kind: 'release',
            app,
            id: null,
            name: version,
            detail: `${env}, since ${first_seen}`,
          })),
        ),
      );
    if (has('consumer'))
      lists.push(
        (await reader.searchConsumers(account, appId, query, limit)).map(
          ({ id, identifier, name, group_name, match }) => ({
            kind: 'consumer',
            app,
            id,
            name: identifier,
            match,
            detail: describeConsumer(identifier, name, group_name),
          }),
        ),
      );
  }
  const hasMatch = lists.flat().some(({ match }) => match !== 'similar');
  // The sort is stable: equal matches stay in the order of kinds and apps.
  const rows = lists
    .flatMap((list) =>
      hasMatch ? list.filter(({ match }) => match !== 'similar').slice(0, limit) : list.slice(0, MAX_SIMILAR),
    )
    .sort((a, b) => MATCHES.indexOf(a.match) - MATCHES.indexOf(b.match))
    .map(({ kind, app, id, name, detail, match }) => [kind, app, id, name, detail, match]);
  const skipped = apps.length - searched.length;
  const table = {
    title: `${hasMatch ? 'Names' : 'No name has this text. Similar names'}, at most ${hasMatch ? limit : MAX_SIMILAR} of a kind and app; times in UTC`,
    facts: { timezone: 'UTC' },
    scope: {},
    columns: ['kind', 'app', 'id', 'name', 'detail', 'match'],
    rows,
    leftOut: skipped > 0 ? [`endpoints and consumers of ${skipped} apps; name an app to search them`] : [],
  };
  return fitTable(table, max_tokens, (shown) =>
    shown < rows.length
      ? { leftOut: `${rows.length - shown} names; use kind, app or a longer query, or raise max_tokens` }
      : undefined,
  );
}

/** The endpoints of a kind, those with the most requests first. */
function listOperations(
  { data, never_called = [] }: EndpointList,
  kind: (typeof INVENTORY_KINDS)[number],
): Omit<Found, 'app' | 'match'>[] {
  if (kind === 'never_called')
    return never_called.map(({ method, path, deprecated, summary }) => ({
      kind,
      id: null,
      name: path,
      detail: [method, ...(deprecated ? ['deprecated'] : []), ...(summary === null ? [] : [summary])].join(
        ', ',
      ),
    }));
  return data
    .filter((endpoint) => (kind === 'deprecated' ? endpoint.deprecated : endpoint.documented === false))
    .sort((a, b) => (b.requests_30d ?? 0) - (a.requests_30d ?? 0))
    .map(
      ({ id, method, path, requests_30d = 0, consumers_30d = 0, sunset = null, last_request_at = null }) => ({
        kind,
        id,
        name: path,
        detail: [
          method,
          `${requests_30d} requests of ${consumers_30d} consumers in 30 days`,
          ...(last_request_at === null ? [] : [`last ${last_request_at}`]),
          ...(sunset === null ? [] : [`sunset ${sunset}`]),
        ].join(', '),
      }),
    );
}

function chooseNames(query: string, names: readonly Omit<Found, 'match'>[]): Found[] {
  const text = query.toLowerCase();
  const order = findNearest(
    query,
    names.map(({ name }) => name),
    names.length,
  );
  return names
    .map((match): Found => {
      const contains = match.name.toLowerCase().includes(text);
      return { ...match, match: match.name === query ? 'exact' : contains ? 'contains' : 'similar' };
    })
    .sort((a, b) => (query === '' ? 0 : order.indexOf(a.name) - order.indexOf(b.name)));
}

function describeApp({ id, name, framework, envs }: App): Omit<Found, 'match'> {
  return { kind: 'app', app: name, id, name, detail: `${framework}, ${envs.length} environments` };
}

function describeEnvs({ name: app, envs }: App): Omit<Found, 'match'>[] {
  return envs.map(({ id, name, last_sync_at }) => ({
    kind: 'env',
    app,
    id,
    name,
    detail: last_sync_at === null ? null : `last data ${last_sync_at}`,
  }));
}

function describeConsumer(identifier: string, name: string, group: string): string | null {
  const parts = [...(name === identifier ? [] : [name]), ...(group === '' ? [] : [`group ${group}`])];
  return parts.length === 0 ? null : parts.join(', ');
}
