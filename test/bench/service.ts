import { setTimeout as wait } from 'node:timers/promises';
import { type Case, buildPath, moved } from './cases/case.js';
import { type Context, createContext } from './cases/context.js';
import { logCases } from './cases/logs.js';
import { metricCases } from './cases/metrics.js';
import { nameCases } from './cases/names.js';
import { reportCases } from './cases/reports.js';
import { trafficCases } from './cases/traffic.js';
import { EXCLUDED, HOT_APP, TEAM_KEY } from './dataset/shape.js';
import { HttpConnection } from './load/http-connection.js';
import type { Subject } from './load/interleave.js';
import { httpRound } from './load/rounds.js';
import { freePort } from './peers/postgres-cluster.js';
import { Child } from './rpc.js';
import type { ServerHandlers } from './server/server.js';
import type { Statement } from './server/statements.js';
import type { DataSet, Workspace } from './workspace.js';

const UNLIMITED = '1000000000';
/** The number of variants of a case whose statements a round of many at once runs. */
const ROUND_VARIANTS = 64;
/** Longer than keys and marks are remembered. */
const MARK_TAKES_MS = 6_000;

/** The service over one data set: a server process, a connection to it, and the cases that suit its data. */
export class Service {
  private readonly statements = new Map<string, Promise<Statement[][]>>();

  private constructor(
    readonly server: Child<ServerHandlers>,
    readonly port: number,
    private connection: HttpConnection,
    readonly context: Context,
  ) {}

  static async start(
    { dataDir, anchor }: DataSet,
    workspace: Workspace,
    settings: NodeJS.ProcessEnv = {},
  ): Promise<Service> {
    const server = await Child.start<ServerHandlers>('./server/server.js', {
      env: {
        DATA_DIR: dataDir,
        PORT: String(await freePort()),
        HOST: '127.0.0.1',
        RATE_LIMIT_PER_MINUTE: UNLIMITED,
        ...settings,
      },
      log: workspace.file('server.log'),
    });
    const port = await server.call('port');
    const connection = await HttpConnection.open(port, TEAM_KEY);
    return new Service(server, port, connection, await createContext(server, anchor));
  }

  cases(): Case[] {
    return [logCases, nameCases, trafficCases, metricCases, reportCases].flatMap((of) => of(this.context));
  }

  async get(path: string, sent?: object): Promise<string> {
    const { status, body } = await this.call(path, sent);
    if (status !== 200) throw new Error(`${path}: ${status} ${body.toString()}`);
    return body.toString();
  }

  /** The case over HTTP. */
  http(benchmarkCase: Case, name = 'http'): Subject {
    const sample = async (nth: number) => {
      const startedAt = performance.now();
      const { status } = await this.call(buildPath(benchmarkCase, nth), benchmarkCase.body);
      if (status !== 200) throw new Error(`${buildPath(benchmarkCase, nth)}: ${status}`);
      return performance.now() - startedAt;
    };
    return { name, sample };
  }

  /** The case's statements through the client alone. */
  async floor(benchmarkCase: Case): Promise<Subject> {
    const variants = await this.findStatements(benchmarkCase);
    const sample = (nth: number) => this.server.call('sample', variant(variants, benchmarkCase, nth));
    return { name: 'floor', sample };
  }

  /** What the engine alone answers to the case's statements. */
  async floorText(benchmarkCase: Case): Promise<string> {
    const variants = await this.findStatements(benchmarkCase);
    return this.server.call('answer', variant(variants, benchmarkCase, 0));
  }

  /** Milliseconds of each request of a round with `concurrency` at once. */
  httpRound(benchmarkCase: Case, concurrency: number, forMs: number): Promise<number[]> {
    const from = this.takeNext(100_000);
    const path = (nth: number) => buildPath(benchmarkCase, from + nth);
    return httpRound({ port: this.port, key: TEAM_KEY, path, body: benchmarkCase.body }, concurrency, forMs);
  }

  async floorRound(benchmarkCase: Case, concurrency: number, forMs: number): Promise<number[]> {
    const statements = await this.findStatements(benchmarkCase);
    const from = this.takeNext(ROUND_VARIANTS);
    const variants = Array.from({ length: ROUND_VARIANTS }, (_, index) =>
      variant(statements, benchmarkCase, from + index),
    );
    return this.server.call('round', variants, concurrency, forMs);
  }

  /** Marks the twenty endpoints as excluded, or takes the marks back. */
  async mark(excluded: boolean): Promise<void> {
    await this.server.call(
      'sql',
      `INSERT INTO endpoints_v1 (app_id, id, method, path, excluded, created_at)
       SELECT app_id, id, method, path, ${excluded}, created_at FROM endpoints_v1 FINAL
       WHERE app_id = ${HOT_APP} AND id IN (${EXCLUDED.join()})`,
    );
    await wait(MARK_TAKES_MS);
  }

  async stop(): Promise<void> {
    this.connection.close();
    await this.server.stop();
  }

  private async call(path: string, body?: object) {
    if (!this.connection.isOpen) this.connection = await HttpConnection.open(this.port, TEAM_KEY);
    return this.connection.get(path, body);
  }

  private last = 10_000;
  /** Takes `count` unused numbers of samples; the first of them. */
  private takeNext(count: number): number {
    this.last += count;
    return this.last - count;
  }

  /** Recorded once: what the product asks for each of the case's requests. */
  private findStatements(benchmarkCase: Case): Promise<Statement[][]> {
    const recorded = this.statements.get(benchmarkCase.id);
    if (recorded) return recorded;
    const recording = this.record(benchmarkCase);
    this.statements.set(benchmarkCase.id, recording);
    return recording;
  }

  private async record(benchmarkCase: Case): Promise<Statement[][]> {
    const recorded: Statement[][] = [];
    for (let nth = 0; nth < benchmarkCase.paths.length; nth++) {
      const path = buildPath(benchmarkCase, nth === 0 ? 0 : nth);
      // Key and scope are remembered for a while: what is recorded behind this request is the operation's
      // alone.
      if (nth % 20 === 0) await this.get(path, benchmarkCase.body);
      const url = `http://127.0.0.1:${this.port}${path}`;
      recorded.push(await this.server.call('statements', url, TEAM_KEY, benchmarkCase.body));
    }
    return recorded;
  }
}

function variant(variants: readonly Statement[][], benchmarkCase: Case, nth: number): Statement[] {
  const statements = variants[nth % variants.length] ?? [];
  return statements.map(({ sql, format }) => ({ sql: moved(sql, benchmarkCase, nth), format }));
}
