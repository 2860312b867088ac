import type { ClickHouseClient, DataFormat } from '@clickhouse/client';
import type { Parameters } from './query-parameters.js';
import { type ReadStats, parseSummary, parseSummaryHeader } from './read-stats.js';
import { READ_SETTINGS } from './server.client.js';

/** A read as it is sent. */
export interface QueryRequest {
  query: string;
  params: Parameters;
  /** The engine's output format. */
  format: 'CustomSeparated' | 'CustomSeparatedWithNames' | 'ArrowStream' | 'Parquet';
  signal: AbortSignal;
}

/** An answer that has begun. */
export interface QueryResponse {
  /** What was read of the tables. */
  stats: ReadStats;
  /** All of it. */
  bytes(): Promise<Buffer>;
  /** Ends it, where nobody wants it any more: the client listens to the signal only until the answer has begun. */
  cancel: () => void;
}

export type QueryTransport = (request: QueryRequest) => Promise<QueryResponse>;

/** Asks the engine in this process. Its answer is taken as bytes: as text, 340 KB took 0.4 ms to decode. */
export function createEmbeddedTransport(client: ClickHouseClient): QueryTransport {
  return async ({ query, params, format, signal }) => {
    const { stream, summary } = await client.exec({
      query: `${query}\nFORMAT ${format}`,
      query_params: params,
      abort_signal: signal,
    });
    return {
      stats: parseSummary(summary),
      bytes: () => readAll(stream),
      cancel: () => {
        stream.destroy(new Error('The response is not needed any more'));
      },
    };
  };
}

/**
 * Asks a server. Parameters too long for a URL go into the body, which the client does for queries alone; and of a query it
 * gives the result as text, which binary formats are not, so that the stream below is read.
 */
export function createHttpTransport(client: ClickHouseClient): QueryTransport {
  return async ({ query, params, format, signal }) => {
    const result = await client.query({
      query,
      query_params: params,
      format: format as DataFormat,
      use_multipart_params_auto: true,
      abort_signal: signal,
      clickhouse_settings: READ_SETTINGS,
    });
    return {
      stats: parseSummaryHeader(result.response_headers),
      bytes: () => readAll((result as unknown as { _stream: AsyncIterable<Buffer> })._stream),
      cancel: () => {
        result.close();
      },
    };
  };
}

async function readAll(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const [only] = chunks;
  return only && chunks.length === 1 ? only : Buffer.concat(chunks);
}
