import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAdmin } from '../../../src/ops/admin/admin.js';
import { ClickHouse } from '../../../src/store/client/clickhouse.client.js';
import { migrate } from '../../../src/store/migrations/migrate.js';
import { Config } from '../../../src/config/config.js';
import { Load, type Outgoing } from '../../collector/setup/load.js';
import { ProductProcess, SERVICE_NODE_OPTIONS } from '../../setup/product-process.js';
import { readProcessorSeconds } from '../machine.js';

const APPS = 20;

/** The collector in a process and a store of its own, with an app that sends to it. */
export class BenchCollector {
  private constructor(
    /** For stores of other measurements. */
    readonly directory: string,
    readonly clientId: string,
    /** Write tokens, one of each app: the collector limits what one app may send at once. */
    readonly tokens: readonly string[],
    private readonly service: ProductProcess,
  ) {}

  static async start(): Promise<BenchCollector> {
    const directory = mkdtempSync(join(tmpdir(), 'collector-bench-'));
    const dataDir = join(directory, 'service');
    const [clientId, tokens] = await withStore(dataDir, async (store) => {
      const admin = createAdmin(store);
      const team = await admin.teams.create('Bench', 'premium');
      const { client_id } = await admin.apps.create(team.id, 'Bench', 'express');
      const written: string[] = [];
      for (let at = 0; at < APPS; at++) {
        const { id } = await admin.apps.create(team.id, `Bench ${at}`, 'express');
        written.push((await admin.writeTokens.create(id)).token);
      }
      return [client_id, written] as const;
    });
    const service = await ProductProcess.start(
      ['serve'],
      {
        DATA_DIR: dataDir,
        COLLECTOR_RATE_LIMIT_PER_MINUTE: '1000000',
        COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '0',
        LOG_LEVEL: 'fatal',
      },
      { nodeOptions: SERVICE_NODE_OPTIONS },
    );
    return new BenchCollector(directory, clientId, tokens, service);
  }

  get url(): string {
    return this.service.collectorUrl;
  }

  /**
   * Messages a second of processor time, from `senders` senders at once. They wait before they send a message
   * again.
   */
  measureRate(messages: readonly Outgoing[], senders: number, pauseMs?: number): Promise<number> {
    return ratePerCore(this.service.pid, messages.length, () => new Load(messages, pauseMs).run(senders));
  }

  async stop(): Promise<void> {
    await this.service.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** How often a second of the process's processor time, engine and merges included. */
export async function ratePerCore(pid: number, count: number, work: () => Promise<void>): Promise<number> {
  const before = readProcessorSeconds(pid);
  await work();
  return Number((count / (readProcessorSeconds(pid) - before)).toPrecision(4));
}

export async function withStore<T>(path: string, work: (store: ClickHouse) => Promise<T>): Promise<T> {
  const store = await ClickHouse.open(new Config({ DATA_DIR: path }));
  try {
    await migrate(store);
    return await work(store);
  } finally {
    await store.close();
  }
}

export function many<T>(length: number, make: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => make(index));
}
