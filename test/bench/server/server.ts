import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { startServer } from '../../../src/entry/bootstrap/api-server.js';
import { ClickHouse } from '../../../src/store/client/clickhouse.client.js';
import { Config } from '../../../src/config/config.js';
import { PageTokens, type TokenContent } from '../../../src/platform/paging/page-tokens.js';
import { ListRequestLogsInput } from '../../../src/api/request-logs/request-logs.input.js';
import { serve } from '../rpc.js';
import { RulesOfAlerts } from './alerts.js';
import { Floor } from './floor.js';
import { type Statement, recorded } from './statements.js';

const running = await startServer();
const { app } = running;
const config = app.get(Config);
const floor = new Floor(resolve(config.dataDir), config.clickhouse.embeddedSessions);
const store = app.get(ClickHouse);
const rules = new RulesOfAlerts(store);
const httpServer: ReturnType<NestExpressApplication['getHttpServer']> = app.getHttpServer();

const handlers = {
  port: () => (httpServer.address() as AddressInfo).port,
  /** The statements of one request, which this process sends to itself. */
  statements: (url: string, key: string, body?: object): Promise<Statement[]> =>
    recorded(store, async () => {
      const headers = { 'Api-Key': key };
      const response = await fetch(
        url,
        body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers },
      );
      if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`);
      await response.text();
    }),
  sample: (statements: readonly Statement[]) => floor.sample(statements),
  answer: (statements: readonly Statement[]) => floor.answer(statements),
  round: (variants: readonly Statement[][], concurrency: number, forMs: number) =>
    floor.round(variants, concurrency, forMs),
  sql: (text: string) => floor.run(text),
  createRules: (count: number) => rules.create(count),
  evaluateRules: (at: number) => rules.evaluate(at),
  countStates: (at: number) => rules.countStates(at),
  deleteRules: () => rules.delete(),
  /** A token as the page before it would have given it: the benchmark cannot walk ten days of pages. */
  token: (teamId: number, appId: number, content: TokenContent) => {
    const { fingerprint } = Object.assign(new ListRequestLogsInput(), { app_id: appId, limit: 100 });
    return app.get(PageTokens).sign({ ...fingerprint, teamId, appId }, content);
  },
};
export type ServerHandlers = typeof handlers;

serve(handlers);
process.once('disconnect', () => {
  void floor
    .close()
    .then(() => running.stop())
    .then(() => process.exit(0));
});
