import { type ClickHouseClient, createClient } from '@clickhouse/client';
import type { NodeClickHouseClientConfigOptions } from '@clickhouse/client/dist/config.js';
import { createChdbConnection } from 'chdb/connection';
import type { Statement } from './statements.js';

type Connection = NonNullable<NodeClickHouseClientConfigOptions['connection']>;

/**
 * What no service in front of the engine can beat: the official client on the engine in this process, the
 * same statements, the result read as text and thrown away. Sessions of its own, as many as the product has.
 */
export class Floor {
  private readonly clients: ClickHouseClient[];

  constructor(directory: string, sessions: number) {
    this.clients = Array.from({ length: sessions }, () => {
      const connection = createChdbConnection({ path: directory }) as unknown as Connection;
      return createClient({ connection });
    });
  }

  /** Milliseconds of the statements, one after another. */
  async sample(statements: readonly Statement[], client = 0): Promise<number> {
    const startedAt = performance.now();
    await this.answer(statements, client);
    return performance.now() - startedAt;
  }

  /** The results of the statements, one behind the other. */
  async answer(statements: readonly Statement[], client = 0): Promise<string> {
    const texts: string[] = [];
    for (const { sql, format } of statements) texts.push(await this.text(client, sql, format));
    return texts.join('');
  }

  /** Runs the variants in turn, `concurrency` at once, for `forMs`; the milliseconds that each took. */
  async round(variants: readonly Statement[][], concurrency: number, forMs: number): Promise<number[]> {
    const took: number[] = [];
    const until = performance.now() + forMs;
    let next = 0;
    const worker = async (client: number) => {
      while (performance.now() < until) {
        const statements = variants[next++ % variants.length] ?? [];
        const ms = await this.sample(statements, client);
        if (performance.now() < until) took.push(ms);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, (_, index) => worker(index)));
    return took;
  }

  /** Any statement; what it answers, tab-separated. */
  async run(sql: string): Promise<string> {
    const responses = /^\s*(SELECT|WITH)\b/i.test(sql);
    if (responses) return this.text(0, sql, 'TabSeparated');
    await this.clients[0]?.command({ query: sql });
    return '';
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close()));
  }

  private async text(
    client: number,
    query: string,
    format: Statement['format'] | 'TabSeparated',
  ): Promise<string> {
    const result = await this.clients[client % this.clients.length]?.query({ query, format });
    return (await result?.text()) ?? '';
  }
}
