import { Injectable } from '@nestjs/common';
import { AppsService } from '../apps/apps.service.js';
import type { DescribedRoute } from '../../records/described-route.js';
import { parseMethods } from '../../queries/predicates.js';
import type { Account } from '../../platform/http/account.js';
import type { FileResponse } from '../../platform/http/file-response.js';
import { streamList } from '../../platform/http/streamed-list.js';
import { Slices } from '../../shared/async/slices.js';
import { HOUR_MS } from '../../shared/time/units.js';
import type { EndpointList } from './endpoints.dto.js';
import type { ListEndpointsInput } from './endpoints.input.js';
import { ENDPOINTS_PER_READ, EndpointsRepository } from './endpoints.repository.js';
import { buildInventory } from './inventory.js';
import { createPathTest } from './path-test.js';

/** The requests and consumers of an inventory are of this time. */
const COUNTED_MS = 30 * 24 * HOUR_MS;

@Injectable()
export class EndpointsService {
  constructor(
    private readonly apps: AppsService,
    private readonly repository: EndpointsRepository,
  ) {}

  async list(account: Account, input: ListEndpointsInput): Promise<EndpointList | FileResponse> {
    if (input.include === 'inventory') return this.readInventory(account, input);
    const scope = await this.apps.require(account, input.app_id);
    return streamList(this.repository.list(scope, input), ENDPOINTS_PER_READ);
  }

  /** The endpoints beside what documents describe; the app's names are limited, so it is one response. */
  async readInventory(account: Account, input: ListEndpointsInput): Promise<EndpointList> {
    const { app_id, app_env_id } = input;
    const scope = await this.apps.require(account, app_id);
    const since = Math.floor((Date.now() - COUNTED_MS) / HOUR_MS) * HOUR_MS;
    const [rows, texts] = await Promise.all([
      this.repository.inventory(scope, app_env_id, since),
      this.repository.findDocuments(scope, app_env_id),
    ]);
    const documents: DescribedRoute[][] = [];
    const work = new Slices();
    for (const text of texts) {
      documents.push(JSON.parse(text) as DescribedRoute[]);
      if (work.isOver) await work.giveWay();
    }
    const { endpoints, neverCalled } = await work.run(
      buildInventory(rows, documents, new Set(scope.excludedEndpointIds)),
    );
    const methods = parseMethods(input.method);
    const hasPath = createPathTest(input.path);
    const isAsked = ({ method, path }: { method: string; path: string }) =>
      (methods.length === 0 || methods.includes(method)) && hasPath(path);
    return {
      data: endpoints.filter(isAsked),
      // A document says more of an app than a key of one consumer may see.
      never_called: scope.consumerId === undefined ? neverCalled.filter(isAsked) : [],
    };
  }
}
