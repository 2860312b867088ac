import { type Bin, type Measure, findBin } from '../../records/bins.js';
import type { CountRecord } from '../../records/request-record.js';
import { MINUTE_MS } from '../../shared/time/units.js';
import type { DemoRequest } from './demo-request.js';

/**
 * The requests summed by minute, environment, endpoint, consumer and status. Counting the sums gives the same
 * result as counting the requests.
 */
export function aggregateCounts(requests: Iterable<DemoRequest>): CountRecord[] {
  const sums = new Map<string, CountRecord & { counted: Map<string, Bin> }>();
  for (const { timestamp, env, consumer, method, path, status_code, ...measured } of requests) {
    const minute = Math.floor(timestamp / MINUTE_MS) * MINUTE_MS;
    const key = `${minute} ${env} ${method} ${path ?? ''} ${status_code} ${consumer?.identifier ?? ''}`;
    const sum = sums.get(key) ?? {
      timestamp: minute,
      env,
      consumer,
      method,
      path,
      status_code,
      requests: 0,
      bytes_received: 0,
      bytes_sent: 0,
      bins: [],
      counted: new Map<string, Bin>(),
    };
    const { request_size_bytes, response_size_bytes, response_time_ms } = measured;
    sum.requests += 1;
    sum.bytes_received += request_size_bytes ?? 0;
    sum.bytes_sent += response_size_bytes ?? 0;
    countBin(sum.counted, 'time', response_time_ms / 1000);
    countBin(sum.counted, 'received', request_size_bytes);
    countBin(sum.counted, 'sent', response_size_bytes);
    sums.set(key, sum);
  }
  return Array.from(sums.values(), ({ counted, ...sum }) => ({ ...sum, bins: [...counted.values()] }));
}

function countBin(counted: Map<string, Bin>, measure: Measure, value: number | null): void {
  if (value === null) return;
  const k = findBin(value);
  const key = `${measure} ${k}`;
  counted.set(key, [measure, k, (counted.get(key)?.[2] ?? 0) + 1]);
}
