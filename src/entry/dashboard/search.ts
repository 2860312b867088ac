import type { Api, ExportQuery, ExportedRequestLog, RequestLog } from './api.js';
import { toIso } from './time.js';

/** The most rows of one answer; about two megabytes. */
const MOST = 5000;
/** Rows that the next part of the window should have. */
const WANTED = 1000;
/** Not divided further. */
const SHORTEST_MS = 1000;

const FIELDS = [
  'env',
  'consumer',
  'path',
  'request_size_bytes',
  'status_code',
  'response_time_ms',
  'response_size_bytes',
  'client_ip',
  'client_country_iso_code',
] as const satisfies ExportQuery['fields'];

export interface Found {
  /** Newest first. */
  logs: RequestLog[];
  /** Everything from here on was searched. */
  searchedFrom: number;
  curl: string;
}

/**
 * The newest request logs of a window that match filters of an export: all of them, or all from a later time
 * on if there are many.
 */
export async function searchLogs(
  api: Api,
  appId: number,
  filters: NonNullable<ExportQuery['filters']>,
  { from, to }: { from: number; to: number },
): Promise<Found> {
  let start = from;
  for (;;) {
    const body: ExportQuery = {
      since: toIso(start),
      until: toIso(to),
      fields: [...FIELDS],
      filters,
      limit: MOST,
    };
    const { data, curl } = await api.exportRows(appId, body);
    const newest = data.at(-1);
    if (data.length < MOST || newest === undefined || to - start <= SHORTEST_MS)
      return { logs: data.reverse().map(toLog), searchedFrom: start, curl };
    // An export begins with the oldest rows: the others are behind its last one. If the window is as dense
    // everywhere, the end of it that has the wanted rows begins even later.
    const last = Date.parse(newest.timestamp);
    const dense = to - Math.max(1, ((last - start) * WANTED) / MOST);
    start = Math.max(start + 1, last, Math.floor(dense));
  }
}

function toLog(row: ExportedRequestLog): RequestLog {
  const { env = '', consumer = null, path = null, status_code = 0, response_time_ms = 0, ...others } = row;
  const { request_size_bytes = null, response_size_bytes = null } = row;
  const { client_ip = null, client_country_iso_code = null } = row;
  return {
    ...others,
    env,
    consumer,
    path,
    status_code,
    response_time_ms,
    request_size_bytes,
    response_size_bytes,
    client_ip,
    client_country_iso_code,
  };
}
