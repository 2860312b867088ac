import type { CountRecord } from '../ingestion/request-record.js';
import type { DemoRequest } from './generator.js';
import { SLOT_MS } from './rhythm.js';

/** The requests added up by slot, environment, endpoint and consumer: for the traffic the same as the requests. */
export function sumsOf(requests: Iterable<DemoRequest>): CountRecord[] {
  const sums = new Map<string, CountRecord>();
  for (const { timestamp, env, consumer, method, path, ...sizes } of requests) {
    const slot = Math.floor(timestamp / SLOT_MS) * SLOT_MS;
    const key = `${slot} ${env} ${method} ${path ?? ''} ${consumer?.identifier ?? ''}`;
    const sum = sums.get(key) ?? {
      timestamp: slot,
      env,
      consumer,
      method,
      path,
      requests: 0,
      bytes_received: 0,
      bytes_sent: 0,
    };
    sum.requests += 1;
    sum.bytes_received += sizes.request_size_bytes ?? 0;
    sum.bytes_sent += sizes.response_size_bytes ?? 0;
    sums.set(key, sum);
  }
  return [...sums.values()];
}
