import createClient from 'openapi-fetch';
import type { components, operations, paths } from './generated/schema.d.js';
import { ClosedPeriods } from './closed-periods.js';
import { toApiCurl } from './curl.js';
import { toIso } from './time.js';

type Schemas = components['schemas'];
export type Team = Schemas['Team'];
export type App = Schemas['App'];
export type Consumer = Schemas['Consumer'];
export type Endpoint = Schemas['Endpoint'];
export type RequestLog = Schemas['RequestLog'];
export type RequestDetails = Schemas['RequestDetails'];
export type Span = Schemas['Span'];
export type MetricsRow = Schemas['MetricsRow'];
export type ErrorRow = Schemas['ErrorRow'];
export type Instance = Schemas['Instance'];
export type ExportedRequestLog = Schemas['ExportedRequestLog'];
type Body<Name extends 'queryMetrics' | 'exportRequestLogs' | 'explainChange' | 'queryErrors'> =
  operations[Name]['requestBody']['content']['application/json'];
export type MetricsQuery = Body<'queryMetrics'>;
export type ExportQuery = Body<'exportRequestLogs'>;
export type ChangesQuery = Body<'explainChange'>;
export type ErrorsQuery = Body<'queryErrors'>;
export type ChangedGroup = Schemas['ChangedGroup'];
export type ExplainedChange = Schemas['ExplainedChange'];
export type Release = Schemas['Release'];
export type Alert = Schemas['Alert'];
export type Facet = Schemas['Facet'];

/** Senders that were refused at one route for one cause; `reason` and `cure` are parts of a sentence. */
export interface Refusal {
  refused_at: string;
  route: string;
  cause: string;
  reason: string;
  cure: string;
}

/** Paths that the document leaves out: of no operation, or the second one of an operation. */
interface OwnPaths {
  '/v1/alerts': {
    parameters: Record<string, never>;
    get: { responses: { 200: { content: { 'application/json': Schemas['AlertList'] } } } };
  };
  '/v1/apps/{app_id}/refused-senders': {
    parameters: { path: { app_id: number } };
    get: {
      parameters: { path: { app_id: number } };
      responses: { 200: { content: { 'application/json': { data: Refusal[] } } } };
    };
  };
}

export type RequestLogsQuery = NonNullable<operations['getRequestLogs']['parameters']['query']>;
export type FacetsQuery = NonNullable<operations['getRequestLogFacets']['parameters']['query']>;
export type InstancesQuery = NonNullable<operations['listInstances']['parameters']['query']>;

/** The directory of the page; the API is there as well. */
const BASE = new URL('.', location.href).href.slice(0, -1);

/** Data of one response, and the request that made it as a command line without the key. */
export interface Loaded<Data> {
  data: Data;
  curl: string;
}

/** A response with another status than 200, or no response. */
export class ApiFailure extends Error {
  constructor(
    /** 0: the service could not be reached. */
    readonly status: number,
    message: string,
    /** The earliest useful time of the next try, in milliseconds since the epoch. */
    readonly retryAt: number,
    /** For a 429: whether the key's limit is exceeded, instead of the limit on wrong keys of an address. */
    readonly isLimitOfKey: boolean,
    /** Whether the key's scopes leave out the operation; other operations may work. */
    readonly isOfScopes: boolean,
  ) {
    super(message);
  }
}

/** The remaining requests, as the last response stated them. */
export interface RateLimit {
  limit: number;
  remaining: number;
}

const RETRY_SECONDS = 10;
/** Number of responses in memory; the oldest is dropped first. */
const MAX_RESPONSES = 200;
/** How long a response about a running period is reused. */
const FRESH_MS = 10_000;
/** Client libraries send up to an hour late: a period is complete an hour after its end. */
const LATE_MS = 3_600_000;

interface Outcome<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** The loaded series of one query: complete periods are requested once, later ones again. */
interface Series {
  from: number;
  completeTo: number;
  rows: Map<number, MetricsRow>;
}

/** The public API with one key. */
export class Api {
  rateLimit: RateLimit | undefined;
  private readonly cache = new Map<string, { at: number; isComplete: boolean; value: Promise<unknown> }>();
  private readonly series = new Map<string, Series>();
  private readonly closed = new ClosedPeriods();
  private readonly client;

  constructor(key: string) {
    this.client = createClient<paths & OwnPaths>({
      baseUrl: BASE,
      headers: { 'Api-Key': key },
      fetch: (request) => this.send(request),
      cache: 'no-store',
      credentials: 'omit',
    });
  }

  team() {
    return this.cached('team', true, async () => this.unwrap(await this.client.GET('/v1/team')));
  }

  apps() {
    return this.cached('apps', false, async () => this.unwrap(await this.client.GET('/v1/apps')));
  }

  /** Senders that were refused in the last 15 minutes: of the app, or of no known app. */
  async refusals(app_id: number): Promise<Refusal[]> {
    const params = { path: { app_id } };
    const { data } = this.unwrap(await this.client.GET('/v1/apps/{app_id}/refused-senders', { params }));
    return data.data;
  }

  endpoints(app_id: number) {
    const params = { path: { app_id } };
    return this.cached(`endpoints ${app_id}`, true, async () =>
      this.unwrap(await this.client.GET('/v1/apps/{app_id}/endpoints', { params })),
    );
  }

  /** The endpoints with what documents and responses say of them. @param app_env_id undefined: any */
  inventory(app_id: number, app_env_id: number | undefined) {
    const query = { include: 'inventory' as const, ...(app_env_id !== undefined && { app_env_id }) };
    return this.cached(`inventory ${app_id} ${app_env_id ?? ''}`, false, async () =>
      this.unwrap(
        await this.client.GET('/v1/apps/{app_id}/endpoints', { params: { path: { app_id }, query } }),
      ),
    );
  }

  /** One page of consumers, the newest first. */
  consumers(app_id: number, requests_since: string, next_token?: string) {
    const query = { requests_since, limit: 1000, ...(next_token && { next_token }) };
    return this.cached(`consumers ${app_id} ${requests_since} ${next_token ?? ''}`, true, async () =>
      this.unwrap(
        await this.client.GET('/v1/apps/{app_id}/consumers', { params: { path: { app_id }, query } }),
      ),
    );
  }

  /** One page. The page of a complete window is requested once. */
  requestLogs(app_id: number, query: RequestLogsQuery) {
    const load = async () =>
      this.unwrap(
        await this.client.GET('/v1/apps/{app_id}/request-logs', { params: { path: { app_id }, query } }),
      );
    if (query.end === undefined || !isComplete(Date.parse(query.end))) return load();
    return this.cached(`logs ${app_id} ${JSON.stringify(query)}`, true, load);
  }

  requestDetails(app_id: number, request_uuid: string) {
    const params = {
      path: { app_id, request_uuid },
      query: { include_consumer_id: true, include_log_attributes: true },
    };
    return this.cached(`request ${app_id} ${request_uuid}`, true, async () => {
      const answer = await this.client.GET('/v1/apps/{app_id}/request-logs/{request_uuid}', { params });
      const logsLeftOut = Number(answer.response.headers.get('X-Logs-Left-Out') ?? 0);
      return { ...this.unwrap(answer), logsLeftOut };
    });
  }

  /** The start of the first hour with requests, of all that are kept; null without any. */
  firstHour(app_id: number): Promise<number | null> {
    const query = { interval: 'hour', start: '2000-01-01', limit: 1 } as const;
    return this.cached(`first hour ${app_id}`, true, async () => {
      const { data } = this.unwrap(
        await this.client.GET('/v1/apps/{app_id}/traffic', { params: { path: { app_id }, query } }),
      );
      const [first] = data.data;
      return first === undefined ? null : Date.parse(first.period_start);
    });
  }

  /** One page of releases, the newest first. */
  releases(app_id: number, query: { start?: string; end?: string; app_env_id?: number; limit: number }) {
    return this.cached(`releases ${app_id} ${JSON.stringify(query)}`, false, async () =>
      this.unwrap(
        await this.client.GET('/v1/apps/{app_id}/releases', { params: { path: { app_id }, query } }),
      ),
    );
  }

  /** The rules of the app with their states, by name. */
  alerts(app_id: number): Promise<Loaded<Alert[]>> {
    const params = { path: { app_id } };
    return this.cached(`alerts ${app_id}`, false, async () => {
      const { data, curl } = this.unwrap(await this.client.GET('/v1/apps/{app_id}/alerts', { params }));
      return { data: data.data, curl };
    });
  }

  /** How many alerts of each app fire. */
  firing(): Promise<Map<number, number>> {
    return this.cached('firing', false, async () => {
      const { data } = this.unwrap(await this.client.GET('/v1/alerts'));
      const counts = new Map<number, number>();
      for (const { app_id, state } of data.data)
        if (state === 'firing') counts.set(app_id, (counts.get(app_id) ?? 0) + 1);
      return counts;
    });
  }

  /** The values of a field among the request logs, the most frequent first. */
  facets(app_id: number, query: FacetsQuery) {
    return this.cached(`facets ${app_id} ${JSON.stringify(query)}`, false, async () =>
      this.unwrap(
        await this.client.GET('/v1/apps/{app_id}/request-logs/facets', {
          params: { path: { app_id }, query },
        }),
      ),
    );
  }

  changes(app_id: number, body: ChangesQuery) {
    return this.cached(`changes ${app_id} ${JSON.stringify(body)}`, false, async () => {
      const { data } = this.unwrap(
        await this.client.POST('/v1/apps/{app_id}/changes', { params: { path: { app_id } }, body }),
      );
      return { data, curl: toApiCurl(`${BASE}/v1/apps/${app_id}/changes`, body) };
    });
  }

  errors(app_id: number, body: ErrorsQuery): Promise<Loaded<ErrorRow[]>> {
    return this.cached(`errors ${app_id} ${JSON.stringify(body)}`, false, async () => {
      const { data } = this.unwrap(
        await this.client.POST('/v1/apps/{app_id}/errors', {
          params: { path: { app_id } },
          body,
          parseAs: 'text',
        }),
        '',
      );
      return {
        data: parseLines<ErrorRow>(data),
        curl: toApiCurl(`${BASE}/v1/apps/${app_id}/errors`, body),
      };
    });
  }

  /** One page of instances, by first report, newest first. */
  instances(app_id: number, query: InstancesQuery) {
    return this.cached(`instances ${app_id} ${JSON.stringify(query)}`, false, async () =>
      this.unwrap(
        await this.client.GET('/v1/apps/{app_id}/instances', { params: { path: { app_id }, query } }),
      ),
    );
  }

  /** @param to end of the window; a complete window is requested once, even after a reload */
  metrics(app_id: number, body: MetricsQuery, to: number): Promise<Loaded<MetricsRow[]>> {
    const id = `metrics ${app_id} ${JSON.stringify(body)}`;
    const isClosed = isComplete(to);
    return this.cached(id, isClosed, async () => {
      const kept = isClosed ? this.closed.get(id) : undefined;
      if (kept !== undefined) return { data: kept as MetricsRow[], curl: metricsCurl(app_id, body) };
      const loaded = await this.queryMetrics(app_id, body);
      if (isClosed) this.closed.set(id, loaded.data);
      return loaded;
    });
  }

  /**
   * Metrics by period. Complete periods are requested once, even if the window moves on or grows, and after a
   * reload.
   */
  async metricSeries(app_id: number, body: MetricsQuery, from: number, to: number) {
    const { since: _, until, ...query } = body;
    const id = `series ${app_id} ${JSON.stringify(query)}`;
    const past = this.series.get(id) ?? this.restoreSeries(id);
    const reusable = past && from <= past.completeTo && to >= past.from ? past : undefined;
    const gaps = reusable
      ? [
          { begin: from, end: reusable.from },
          { begin: reusable.completeTo, end: to },
        ].filter(({ begin, end }) => begin < end)
      : [{ begin: from, end: to }];
    const rows = new Map(reusable?.rows);
    await Promise.all(
      gaps.map(async ({ begin, end }) => {
        const last = end === to ? until : toIso(end);
        const part = { ...query, since: toIso(begin), ...(last && { until: last }) };
        const { data } = await this.cached(`part ${id} ${begin} ${end}`, false, () =>
          this.queryMetrics(app_id, part),
        );
        for (const row of data) rows.set(Date.parse(row.period_start), row);
      }),
    );
    const ends = [...rows.values()].map((row) => Date.parse(row.period_end));
    const completeTo = isComplete(to)
      ? Math.max(to, reusable?.completeTo ?? 0)
      : Math.max(from, reusable?.completeTo ?? 0, ...ends.filter(isComplete));
    const series = { from: Math.min(from, reusable?.from ?? from), completeTo, rows };
    this.series.set(id, series);
    if (gaps.length > 0) this.keepSeries(id, series);
    const data = [...rows].filter(([start]) => start >= from && start < to).map(([, row]) => row);
    return { data, curl: metricsCurl(app_id, body) };
  }

  private restoreSeries(id: string): Series | undefined {
    const kept = this.closed.get(id) as (Omit<Series, 'rows'> & { rows: MetricsRow[] }) | undefined;
    return kept && { ...kept, rows: new Map(kept.rows.map((row) => [Date.parse(row.period_start), row])) };
  }

  private keepSeries(id: string, { from, completeTo, rows }: Series) {
    if (completeTo === from) return;
    const complete = [...rows].filter(([start]) => start < completeTo).map(([, row]) => row);
    this.closed.set(id, { from, completeTo, rows: complete });
  }

  /** The next load requests everything again. */
  forget() {
    this.cache.clear();
    this.series.clear();
    this.closed.clear();
  }

  /**
   * Called when the key is no longer used: drops everything, including responses that are still on their way.
   */
  end() {
    this.forget();
    this.closed.end();
  }

  /** The next load requests everything again except complete periods. */
  forgetRunning() {
    for (const [id, { isComplete }] of this.cache) if (!isComplete) this.cache.delete(id);
  }

  /** Rows of an export, oldest first. */
  async exportRows(app_id: number, body: ExportQuery): Promise<Loaded<ExportedRequestLog[]>> {
    const { data } = this.unwrap(
      await this.client.POST('/v1/apps/{app_id}/request-logs', {
        params: { path: { app_id } },
        body,
        parseAs: 'text',
      }),
      '',
    );
    return { data: parseLines<ExportedRequestLog>(data), curl: this.exportCurl(app_id, body) };
  }

  /** The whole file; a response that breaks off is an error. */
  async exportFile(app_id: number, body: ExportQuery): Promise<Blob> {
    const { data } = this.unwrap(
      await this.client
        .POST('/v1/apps/{app_id}/request-logs', { params: { path: { app_id } }, body, parseAs: 'blob' })
        .catch((error: unknown) => {
          throw error instanceof ApiFailure ? error : noResponse('The export broke off. Nothing was saved.');
        }),
      new Blob(),
    );
    return data;
  }

  exportCurl(app_id: number, body: ExportQuery): string {
    return toApiCurl(`${BASE}/v1/apps/${app_id}/request-logs`, body);
  }

  private async queryMetrics(app_id: number, body: MetricsQuery): Promise<Loaded<MetricsRow[]>> {
    const { data } = this.unwrap(
      await this.client.POST('/v1/apps/{app_id}/metrics', {
        params: { path: { app_id } },
        body,
        parseAs: 'text',
      }),
      '',
    );
    return { data: parseLines<MetricsRow>(data), curl: metricsCurl(app_id, body) };
  }

  /** Equal loads share one request. A failed load is not cached. */
  private cached<Value>(id: string, isComplete: boolean, load: () => Promise<Value>): Promise<Value> {
    const cached = this.cache.get(id);
    if (cached && (cached.isComplete || Date.now() - cached.at < FRESH_MS))
      return cached.value as Promise<Value>;
    const value = load();
    this.cache.set(id, { at: Date.now(), isComplete, value });
    const [oldest = ''] = this.cache.keys();
    if (this.cache.size > MAX_RESPONSES) this.cache.delete(oldest);
    value.catch(() => {
      if (this.cache.get(id)?.value === value) this.cache.delete(id);
    });
    return value;
  }

  private async send(request: Request): Promise<Response> {
    const response = await fetch(request).catch(() => {
      throw noResponse('The service cannot be reached.');
    });
    const limit = response.headers.get('X-RateLimit-Limit');
    const remaining = response.headers.get('X-RateLimit-Remaining');
    if (limit !== null) this.rateLimit = { limit: Number(limit), remaining: Number(remaining) };
    return response;
  }

  /** @param empty the data of an empty response, for example of no rows */
  private unwrap<Data>({ data, error, response }: Outcome<Data>, empty?: Data): Loaded<Data> {
    const value = data ?? empty;
    if (response.ok && value !== undefined) return { data: value, curl: toApiCurl(response.url) };
    const seconds = Number(response.headers.get('Retry-After') ?? RETRY_SECONDS);
    throw new ApiFailure(
      response.status,
      describeError(error),
      Date.now() + Math.max(seconds, 1) * 1000,
      response.headers.has('X-RateLimit-Limit'),
      response.headers.get('WWW-Authenticate')?.includes('insufficient_scope') ?? false,
    );
  }
}

function isComplete(end: number): boolean {
  return end + LATE_MS < Date.now();
}

function metricsCurl(app_id: number, body: MetricsQuery): string {
  return toApiCurl(`${BASE}/v1/apps/${app_id}/metrics`, body);
}

function noResponse(message: string): ApiFailure {
  return new ApiFailure(0, message, Date.now() + RETRY_SECONDS * 1000, false, false);
}

/** The `detail` of an error: a text, or a list of validation issues. */
function describeError(error: unknown): string {
  const detail = (error as Schemas['ErrorBody'] | Schemas['ValidationErrorBody'] | undefined)?.detail;
  if (typeof detail === 'string') return detail;
  return (detail ?? []).map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ');
}

function parseLines<Row>(text: string): Row[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
}
