import createClient, { type Middleware } from 'openapi-fetch';
import type { components, paths } from '../../../src/entry/dashboard/generated/schema.d.js';

type Schemas = components['schemas'];

/** All that a key can read, page by page. */
export interface Everything {
  team: Schemas['Team'];
  apps: {
    app: Schemas['App'];
    endpoints: Schemas['Endpoint'][];
    consumers: Schemas['Consumer'][];
    requestLogs: Schemas['RequestLog'][];
    newest: Schemas['RequestDetails'] | undefined;
    traffic: Schemas['TrafficRecord'][];
  }[];
  /** Requests that were sent. */
  requests: number;
}

/** A response as the client gives it: a body, or what went wrong. */
interface Outcome<Body> {
  data?: Body;
  error?: Schemas['ErrorBody'] | Schemas['ValidationErrorBody'];
}

interface Page<Item> {
  data: Item[];
  has_more: boolean;
  next_token?: string;
}

/** Reads everything, as a program would that knows no more of the service than its types. */
export async function readEverything(baseUrl: string, key: string, limit: number): Promise<Everything> {
  const client = createClient<paths>({ baseUrl, headers: { 'Api-Key': key } });
  let requests = 0;
  const count: Middleware = {
    onRequest: () => {
      requests += 1;
      return undefined;
    },
  };
  client.use(count);

  const readApp = async (app: Schemas['App']) => {
    const path = { app_id: app.id };
    const { data: endpoints } = good(
      await client.GET('/v1/apps/{app_id}/endpoints', { params: { path, query: { path: '*' } } }),
    );
    const consumers = await allPages((token) =>
      client.GET('/v1/apps/{app_id}/consumers', { params: { path, query: { limit, ...token } } }),
    );
    const requestLogs = await allPages((token) =>
      client.GET('/v1/apps/{app_id}/request-logs', {
        params: { path, query: { limit, status_code: '2xx,4xx,5xx', ...token } },
      }),
    );
    const traffic = await allPages((token) =>
      client.GET('/v1/apps/{app_id}/traffic', {
        params: { path, query: { limit, interval: 'hour', timezone: 'Asia/Kathmandu', ...token } },
      }),
    );
    const [first] = requestLogs;
    const newest = first && (await readDetails(path.app_id, first.request_uuid));
    return { app, endpoints, consumers, requestLogs, newest, traffic };
  };

  const readDetails = async (app_id: number, request_uuid: string) =>
    good(
      await client.GET('/v1/apps/{app_id}/request-logs/{request_uuid}', {
        params: { path: { app_id, request_uuid } },
      }),
    );

  const team = good(await client.GET('/v1/team'));
  const apps = [];
  for (const app of good(await client.GET('/v1/apps')).data) apps.push(await readApp(app));
  return { team, apps, requests };
}

async function allPages<Item>(
  read: (token: { next_token?: string }) => Promise<Outcome<Page<Item>>>,
): Promise<Item[]> {
  const items: Item[] = [];
  let token: { next_token?: string } = {};
  for (;;) {
    const { data, has_more, next_token } = good(await read(token));
    items.push(...data);
    if (!has_more || next_token === undefined) return items;
    token = { next_token };
  }
}

function good<Body>({ data, error }: Outcome<Body>): Body {
  if (data === undefined) throw new Error(`The service refused: ${JSON.stringify(error?.detail)}`);
  return data;
}
