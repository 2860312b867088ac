import { buffer } from 'node:stream/consumers';
import { Injectable } from '@nestjs/common';
import { AppsService } from '../apps/apps.service.js';
import type { Account } from '../../platform/http/account.js';
import { FileResponse } from '../../platform/http/file-response.js';
import { createIssue, valueError } from '../../platform/input/issues.js';
import { ValidationException } from '../../platform/input/validation.exception.js';
import { EXPOSITION_TYPES, type ExpositionFormat, type Series, writeExposition } from './exposition.js';
import { writeProtobuf } from './protobuf-exposition.js';
import { PrometheusRepository, type SeriesLabels } from './prometheus.repository.js';

/** Largest number of combinations of labels in a response, each with about 35 lines. */
const MAX_SERIES = 10_000;
/** The same of native histograms, each with up to some hundred bins. */
const MAX_NATIVE_SERIES = 2_500;
/** A response with more is sent in chunks, so that its text is never in memory as a whole. */
const MAX_WHOLE_SERIES = 500;

@Injectable()
export class PrometheusService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: PrometheusRepository,
  ) {}

  async scrapeApp(
    account: Account,
    appId: number,
    routes: number,
    format: ExpositionFormat,
  ): Promise<FileResponse> {
    await this.apps.require(account, appId);
    const scopes = { ...account.scopes, appIds: [appId] };
    return this.scrapeTeam({ ...account, scopes }, routes, format);
  }

  async scrapeTeam(account: Account, routes: number, format: ExpositionFormat): Promise<FileResponse> {
    const apps = await this.apps.listAll(account);
    const isNative = format === 'application/vnd.google.protobuf';
    const limit = isNative ? MAX_NATIVE_SERIES : MAX_SERIES;
    const series: Series[] = [];
    for (const { id } of apps) {
      series.push(...(await this.readSeries(account, id, routes, limit + 1 - series.length, isNative)));
      if (series.length > limit)
        throw new ValidationException([
          createIssue(
            'query',
            'routes',
            String(routes),
            valueError(
              `the response has more than ${limit} combinations of labels: ask for fewer routes, or for one app`,
            ),
          ),
        ]);
    }
    const chunks = isNative ? writeProtobuf(apps, series) : writeExposition(apps, series, format);
    if (series.length > MAX_WHOLE_SERIES) return new FileResponse(EXPOSITION_TYPES[format], { chunks });
    return new FileResponse(EXPOSITION_TYPES[format], await buffer(chunks));
  }

  private async readSeries(
    account: Account,
    appId: number,
    routes: number,
    limit: number,
    isNative: boolean,
  ): Promise<Series[]> {
    const scope = await this.apps.require(account, appId);
    const now = new Date();
    const startOfMonth = (offset: number) =>
      Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset) / 1000;
    const query = { origin: startOfMonth(0), rankedFrom: startOfMonth(-1), routes, limit };
    // The buckets are read first: each of their requests is then among the counts.
    const buckets = await this.repository.findBuckets(scope, query, isNative);
    const counts = await this.repository.findCounts(scope, query);
    const keyOf = ({ env, method, route, status }: SeriesLabels) =>
      JSON.stringify([env, method, route, status]);
    const bucketsOf = new Map(buckets.map((row) => [keyOf(row), row]));
    return counts.map((row) => ({ appId, counts: row, buckets: bucketsOf.get(keyOf(row)) }));
  }
}
