import { HOT_APP, LOG_DAYS, findConsumerByRank } from '../dataset/shape.js';
import type { Child } from '../rpc.js';
import type { ServerHandlers } from '../server/server.js';

const DAY_MS = 86_400_000;
/** The 15 days begin a little late, so that the retention does not cut them while the benchmark runs. */
const MARGIN_MS = 3 * 3_600_000;
const DETAILS_ASKED = 200;
const DEEP_PAGES = 16;
const TEN_DAYS = 10;

/** What the cases need to know of one data set. */
export interface Context {
  appId: number;
  /** Window of the logs, milliseconds since the epoch. */
  start: number;
  end: number;
  detailUuids: string[];
  /** Positions at the tenth day and the tokens that lead there. */
  deep: { after: number; token: string }[];
  consumers: { rare: number; middling: number; absent: number };
}

/** @param anchor the data set's newest time, milliseconds since the epoch */
export async function createContext(server: Child<ServerHandlers>, anchor: number): Promise<Context> {
  const appId = HOT_APP;
  const start = anchor - LOG_DAYS * DAY_MS + MARGIN_MS;
  const uuids = await server.call(
    'sql',
    `SELECT request_uuid FROM request_details_v1
     WHERE app_id = ${appId} AND captured_json != '' AND timestamp >= fromUnixTimestamp64Milli(toInt64(${start}))
     ORDER BY cityHash64(request_uuid) LIMIT ${DETAILS_ASKED}`,
  );
  const deep = [];
  for (let page = 0; page < DEEP_PAGES; page++) {
    const after = anchor - TEN_DAYS * DAY_MS - page * 60_000;
    const token = await server.call('token', 1, appId, {
      window: [start, anchor],
      requestedWindow: [start, anchor],
      after: [after, '80000000-0000-4000-8000-000000000000'],
    });
    deep.push({ after, token });
  }
  return {
    appId,
    start,
    end: anchor,
    detailUuids: uuids.trimEnd().split('\n'),
    deep,
    consumers: { rare: findConsumerByRank(19_999), middling: findConsumerByRank(200), absent: 2_000_000_000 },
  };
}
