import type { QueryOutcome } from '../observability/metrics/metrics.js';
import type { Telemetry } from '../observability/telemetry.js';
import { QueryTimedOut, StoreUnavailable, StoredDataDamaged } from './clickhouse.errors.js';
import { type Reads, addReads } from './read-stats.js';

/** A statement as it is told of: its name and kind, never its text or values. */
export interface Statement {
  name: string;
  operation: 'SELECT' | 'INSERT' | 'COMMAND';
  /** The patience of the request that it is for. */
  asker?: AbortSignal | undefined;
}

/** Tells of every statement: to the metrics, to the traces, and to the request that it was for. */
export class Watch {
  constructor(
    private readonly telemetry: Telemetry,
    private readonly database: string,
    private readonly onDamage: (error: StoredDataDamaged) => void,
  ) {}

  /** Does the work, which enters into `reads` what it read. */
  async over<T>(statement: Statement, work: (reads: Reads) => Promise<T>): Promise<T> {
    const { tracing } = this.telemetry;
    if (!tracing) return this.measured(statement, work);
    const { name, operation } = statement;
    const attributes = {
      'db.system.name': 'clickhouse',
      'db.namespace': this.database,
      'db.operation.name': operation,
      'db.query.summary': name,
    };
    return tracing.call(name, attributes, (span) =>
      this.measured(statement, work, (reads) => {
        span?.setAttributes({
          'request_analytics.rows_read': reads.rows,
          'request_analytics.bytes_read': reads.bytes,
        });
      }),
    );
  }

  private async measured<T>(
    { name, asker }: Statement,
    work: (reads: Reads) => Promise<T>,
    tell?: (reads: Reads) => void,
  ): Promise<T> {
    const { metrics } = this.telemetry;
    const reads: Reads = { rows: 0, bytes: 0 };
    const startedAt = metrics ? performance.now() : 0;
    let outcome: QueryOutcome = 'ok';
    try {
      return await work(reads);
    } catch (error) {
      outcome = outcomeOf(error, asker);
      if (!(error instanceof StoredDataDamaged)) throw error;
      const damage = new StoredDataDamaged(error.code, { query: name, cause: error.cause });
      this.onDamage(damage);
      throw damage;
    } finally {
      if (asker) addReads(asker, reads);
      metrics?.observeQuery(name, outcome, (performance.now() - startedAt) / 1000, reads.rows, reads.bytes);
      tell?.(reads);
    }
  }
}

function outcomeOf(error: unknown, asker: AbortSignal | undefined): QueryOutcome {
  if (error instanceof QueryTimedOut) return 'timed_out';
  if (error instanceof StoreUnavailable) return 'unavailable';
  return asker?.aborted ? 'abandoned' : 'failed';
}
