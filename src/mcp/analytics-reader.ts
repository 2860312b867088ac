import { Injectable, type Type } from '@nestjs/common';
import { AppMetricsService } from '../api/app-metrics/app-metrics.service.js';
import type { GroupField } from '../api/app-metrics/app-metrics.input.js';
import type { Metric } from '../api/app-metrics/metric-names.js';
import { QueryMetricsInput } from '../api/app-metrics/app-metrics.input.js';
import type { App } from '../api/apps/apps.dto.js';
import { AppsService, type Match } from '../api/apps/apps.service.js';
import { MAX_COMPARED_GROUPS } from '../api/changes/changes.service.js';
import type { MetricsValues } from '../api/changes/groups.js';
import { listEnvConditions } from '../api/app-metrics/metric-condition.js';
import type { Release } from '../api/releases/releases.dto.js';
import { ListReleasesInput } from '../api/releases/releases.input.js';
import { ReleasesService } from '../api/releases/releases.service.js';
import { requireOperation } from '../access/operations/operation.guard.js';
import type { Account, OperationId } from '../platform/http/account.js';
import { readJsonLines } from '../queries/files/json-lines.js';
import { parseExact } from '../shared/json/exact-json.js';
import { ConsumersRepository, type NamedConsumer } from '../api/consumers/consumers.repository.js';
import type { Endpoint, EndpointList } from '../api/endpoints/endpoints.dto.js';
import { ListEndpointsInput } from '../api/endpoints/endpoints.input.js';
import { EndpointsRepository } from '../api/endpoints/endpoints.repository.js';
import { EndpointsService } from '../api/endpoints/endpoints.service.js';
import type { ErrorRow } from '../api/errors/errors.dto.js';
import { QueryErrorsInput } from '../api/errors/errors.input.js';
import { ErrorsService } from '../api/errors/errors.service.js';
import type { Page } from '../platform/paging/page.dto.js';
import type { ExportedRequestLog } from '../api/request-logs/export/export.dto.js';
import { ExportRequestLogsInput } from '../api/request-logs/export/export.input.js';
import { ExportService } from '../api/request-logs/export/export.service.js';
import type { RequestDetails } from '../api/request-logs/request-details.dto.js';
import type { RequestLogKey } from '../api/request-logs/request-log-key.js';
import type { RequestLog } from '../api/request-logs/request-logs.dto.js';
import { GetRequestDetailsInput, ListRequestLogsInput } from '../api/request-logs/request-logs.input.js';
import { RequestLogsService } from '../api/request-logs/request-logs.service.js';
import { InputPipe } from '../platform/input/input.pipe.js';
import { parseJsonBody } from '../platform/input/json-body.js';

export interface MetricFilterBody {
  field: GroupField;
  op: string;
  value: string | number | readonly string[] | readonly number[];
}

/** The part of Query Metrics' body that tools use. */
export interface MetricsBody {
  since: string;
  until: string;
  timezone: string;
  metrics: readonly Metric[];
  interval?: string | undefined;
  group_by: readonly GroupField[];
  filters: readonly MetricFilterBody[];
  apdex_threshold_ms?: number | undefined;
}

/**
 * The operations of the API for a tool. Each call validates its input and reads with the account of the
 * request's key, as the operation does. So a tool sees the same data as that key in the API.
 */
@Injectable()
export class AnalyticsReader {
  constructor(
    private readonly pipe: InputPipe,
    private readonly apps: AppsService,
    private readonly endpoints: EndpointsRepository,
    private readonly endpointLists: EndpointsService,
    private readonly consumers: ConsumersRepository,
    private readonly appMetrics: AppMetricsService,
    private readonly requestLogs: RequestLogsService,
    private readonly exports: ExportService,
    private readonly errors: ErrorsService,
    private readonly releases: ReleasesService,
  ) {}

  async listApps(account: Account): Promise<App[]> {
    requireOperation(account, 'listApps');
    return this.apps.listAll(account);
  }

  async searchEndpoints(
    account: Account,
    appId: number,
    name: string,
    limit: number,
  ): Promise<(Endpoint & { match: Match })[]> {
    requireOperation(account, 'listEndpoints');
    return this.endpoints.search(await this.apps.require(account, appId), name, limit);
  }

  /** The endpoints with what documents and responses say of them, and documented operations never called. */
  async readInventory(account: Account, appId: number): Promise<EndpointList> {
    const query = { include: 'inventory' };
    const input = await this.readInput('listEndpoints', ListEndpointsInput, account, appId, { query });
    return this.endpointLists.readInventory(account, input);
  }

  async searchConsumers(
    account: Account,
    appId: number,
    name: string,
    limit: number,
  ): Promise<(NamedConsumer & { match: Match })[]> {
    requireOperation(account, 'listConsumers');
    return this.consumers.search(await this.apps.require(account, appId), name, limit);
  }

  /** Identifiers of consumers by ID; IDs that do not exist are left out. */
  async findConsumers(account: Account, appId: number, ids: readonly number[]): Promise<Map<number, string>> {
    if (ids.length === 0) return new Map();
    requireOperation(account, 'listConsumers');
    const found = await this.consumers.find(await this.apps.require(account, appId), ids);
    return new Map(found.map(({ id, identifier }) => [id, identifier]));
  }

  /**
   * @param countsTimed whether rows also have `timed_requests`
   * @throws ValidationException for a result of more than 100,000 rows, and the errors of the operation
   */
  async queryMetrics(
    account: Account,
    appId: number,
    body: MetricsBody,
    countsTimed = false,
  ): Promise<MetricsValues[]> {
    const input = await this.readInput('queryMetrics', QueryMetricsInput, account, appId, { body });
    const options = { maxRows: MAX_COMPARED_GROUPS, countsTimed };
    return readJsonLines<MetricsValues>(await this.appMetrics.query(account, input, 'ndjson', options));
  }

  /** Errors, the most frequent first, with the filters of Query Errors. */
  async queryErrors(account: Account, appId: number, body: object): Promise<ErrorRow[]> {
    const input = await this.readInput('queryErrors', QueryErrorsInput, account, appId, { body });
    return readJsonLines<ErrorRow>(await this.errors.query(account, input, 'ndjson'));
  }

  /** The newest releases of an app. */
  async listReleases(account: Account, appId: number): Promise<Release[]> {
    const input = await this.readInput('listReleases', ListReleasesInput, account, appId, {});
    const { body } = await this.releases.list(account, input);
    return (JSON.parse(body.toString()) as Page<Release>).data;
  }

  /** When a version began, in one environment or in any; undefined if it is no release. */
  async findReleaseBegin(
    account: Account,
    appId: number,
    version: string,
    env: string | undefined,
  ): Promise<number | undefined> {
    requireOperation(account, 'listReleases');
    const envs = env === undefined ? [] : [{ field: 'env', op: 'eq', value: env } as const];
    return this.releases.findBegin(account, appId, version, listEnvConditions(envs));
  }

  /**
   * Request logs, newest first.
   *
   * @param query parameters of Get Request Logs, with `start` and `end`
   * @param after the last request of the previous page
   */
  async listRequestLogs(
    account: Account,
    appId: number,
    query: Readonly<Record<string, string>>,
    after?: RequestLogKey,
  ): Promise<Page<RequestLog>> {
    const input = await this.readInput('getRequestLogs', ListRequestLogsInput, account, appId, { query });
    const { requestedWindow } = input.cursor;
    const [start, end] = requestedWindow;
    if (after && start !== null && end !== null)
      input.cursor = {
        ...input.cursor,
        token: { requestedWindow, window: [start, end], after: [after.timestamp, after.request_uuid] },
      };
    const { body: page } = await this.requestLogs.list(account, input);
    return JSON.parse(page.toString()) as Page<RequestLog>;
  }

  /** Request logs, oldest first, with the filters and fields of Export Request Logs. */
  async exportRequestLogs(account: Account, appId: number, body: object): Promise<ExportedRequestLog[]> {
    const input = await this.readInput('exportRequestLogs', ExportRequestLogsInput, account, appId, { body });
    return readJsonLines<ExportedRequestLog>(await this.exports.export(account, input, 'ndjson'));
  }

  /** A request, and how many of its log records the details have not. */
  async getRequestDetails(
    account: Account,
    appId: number,
    requestUuid: string,
  ): Promise<{ details: RequestDetails; logsLeftOut: number }> {
    const path = { request_uuid: requestUuid };
    const query = { include_consumer_id: 'true' };
    const input = await this.readInput('getRequestDetails', GetRequestDetailsInput, account, appId, {
      path,
      query,
    });
    const { body, headers } = await this.requestLogs.get(account, input);
    const logsLeftOut = Number(headers['X-Logs-Left-Out'] ?? 0);
    return { details: parseExact(body.toString()) as RequestDetails, logsLeftOut };
  }

  /**
   * Reads the input of an operation in the same way as its route.
   *
   * @throws ApiError 403 if the key's scopes leave out the operation
   */
  private async readInput<Input extends object>(
    operation: OperationId,
    inputClass: Type<Input>,
    account: Account,
    appId: number,
    {
      path = {},
      query = {},
      body,
    }: { path?: Record<string, string>; query?: Readonly<Record<string, string>>; body?: object },
  ): Promise<Input> {
    requireOperation(account, operation);
    const raw = {
      path: escapeValues({ app_id: String(appId), ...path }),
      query: escapeValues(query),
      readBody: () => Promise.resolve(parseJsonBody(Buffer.from(JSON.stringify(body)))),
      account,
    };
    return (await this.pipe.transform(raw, { type: 'custom', metatype: inputClass })) as Input;
  }
}

function escapeValues(values: Readonly<Record<string, string>>): Map<string, string> {
  return new Map(Object.entries(values).map(([name, value]) => [name, encodeURIComponent(value)]));
}
