import { RequestContext } from '../../telemetry/request-context.js';
import type { QueryOutcome } from '../../telemetry/metrics/metrics.js';
import type { Telemetry } from '../../telemetry/telemetry.js';
import { QueryTimedOut, StoreUnavailable, StoredDataDamaged } from './clickhouse.errors.js';
import type { ReadStats } from './read-stats.js';

/** Name and kind of a statement; never its text or values. */
export interface QueryMeta {
  name: string;
  operation: 'SELECT' | 'INSERT' | 'COMMAND';
}

/** Reports every statement to the metrics, to the traces, and to its request. */
export class QueryInstrumentation {
  constructor(
    private readonly telemetry: Telemetry,
    private readonly database: string,
    private readonly onDamage: (error: StoredDataDamaged) => void,
  ) {}

  /** Runs the work, which sets its read statistics in `stats`, and records its duration and outcome. */
  async observe<T>(statement: QueryMeta, work: (stats: ReadStats) => Promise<T>): Promise<T> {
    const { tracing } = this.telemetry;
    if (!tracing) return this.measure(statement, work);
    const { name, operation } = statement;
    const attributes = {
      'db.system.name': 'clickhouse',
      'db.namespace': this.database,
      'db.operation.name': operation,
      'db.query.summary': name,
    };
    return tracing.call(name, attributes, (span) =>
      this.measure(statement, work, (stats) => {
        span?.setAttributes({
          'request_analytics.rows_read': stats.rows,
          'request_analytics.bytes_read': stats.bytes,
        });
      }),
    );
  }

  private async measure<T>(
    { name }: QueryMeta,
    work: (stats: ReadStats) => Promise<T>,
    report?: (stats: ReadStats) => void,
  ): Promise<T> {
    const { metrics } = this.telemetry;
    const request = RequestContext.current;
    const stats: ReadStats = { rows: 0, bytes: 0 };
    const startedAt = metrics ? performance.now() : 0;
    let outcome: QueryOutcome = 'ok';
    try {
      return await work(stats);
    } catch (error) {
      outcome = classifyOutcome(error, request?.signal);
      if (!(error instanceof StoredDataDamaged)) throw error;
      const damage = new StoredDataDamaged(error.code, { query: name, cause: error.cause });
      this.onDamage(damage);
      throw damage;
    } finally {
      if (request) {
        request.stats.rows += stats.rows;
        request.stats.bytes += stats.bytes;
      }
      metrics?.observeQuery(name, outcome, (performance.now() - startedAt) / 1000, stats.rows, stats.bytes);
      report?.(stats);
    }
  }
}

function classifyOutcome(error: unknown, signal: AbortSignal | undefined): QueryOutcome {
  if (error instanceof QueryTimedOut) return 'timed_out';
  if (error instanceof StoreUnavailable) return 'unavailable';
  return signal?.aborted ? 'client_closed' : 'failed';
}
