/** The same question for another database. */
export interface PeerQuery {
  /** One text for PostgreSQL and DuckDB, with `$1`, `$2`. */
  sql: string;
  values: (nth: number) => string[];
  /** Indices in a peer's row of the members that `compared` of the case names. */
  columns: readonly number[];
}

/** One question to the service. */
export interface Case {
  /** What `--only` matches. */
  id: string;
  title: string;
  /** Requests asked in turn, `{start}` in them being the window's start. */
  paths: readonly string[];
  /** The body of a POST; without one it is a GET. */
  body?: object;
  /**
   * Start of the window, milliseconds since the epoch. The nth sample's is n milliseconds later: as with
   * windows that end now, no two questions are the same to the engine, which remembers what a condition did
   * not find.
   */
  start?: number;
  /** Asked while twenty endpoints are marked as excluded. */
  excluded?: true;
  /**
   * Members of a record that every database must answer alike, in the same order of records; empty: the
   * response has no records.
   */
  compared: readonly string[];
  peer?: PeerQuery;
}

const iso = (ms: number) => new Date(ms).toISOString();

/** The request that asks the case for the nth time. */
export function buildPath({ paths, start = 0 }: Case, nth: number): string {
  return (paths[nth % paths.length] ?? '').replace('{start}', iso(start + nth));
}

/** The same for the text of a statement that asked the case with `nth` of 0. */
export function moved(sql: string, { start }: Case, nth: number): string {
  return start === undefined ? sql : sql.replaceAll(String(start), String(start + nth));
}

/** A time as both peers read it: UTC, without an offset. */
export function peerTime(ms: number): string {
  return iso(ms).replace('T', ' ').slice(0, -1);
}
