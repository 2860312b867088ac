import { BinCounter } from '../ingestion/bins.js';
import type { CountRecord } from '../ingestion/request-record.js';
import type { DemoRequest } from './generator.js';
import { SLOT_MS } from './rhythm.js';

/** The requests added up by slot, environment, endpoint, consumer and status: counted they are the same as the requests. */
export function sumsOf(requests: Iterable<DemoRequest>): CountRecord[] {
  const sums = new Map<string, { sum: CountRecord; bins: BinCounter }>();
  for (const { timestamp, env, consumer, method, path, status_code, ...measured } of requests) {
    const slot = Math.floor(timestamp / SLOT_MS) * SLOT_MS;
    const key = `${slot} ${env} ${method} ${path ?? ''} ${status_code} ${consumer?.identifier ?? ''}`;
    const { sum, bins } = sums.get(key) ?? {
      sum: {
        timestamp: slot,
        env,
        consumer,
        method,
        path,
        status_code,
        requests: 0,
        bytes_received: 0,
        bytes_sent: 0,
        bins: [],
      },
      bins: new BinCounter(),
    };
    const { request_size_bytes, response_size_bytes, response_time_ms } = measured;
    sum.requests += 1;
    sum.bytes_received += request_size_bytes ?? 0;
    sum.bytes_sent += response_size_bytes ?? 0;
    bins.add('time', response_time_ms / 1000);
    bins.add('received', request_size_bytes);
    bins.add('sent', response_size_bytes);
    sums.set(key, { sum, bins });
  }
  return Array.from(sums.values(), ({ sum, bins }) => ({ ...sum, bins: bins.toBins() }));
}
