/**
 * What goes wrong with the response to a query. Where rows are sent, they are the first of those really asked
 * for.
 */
export type FailureMode =
  /**
   * A correct response, but only after a while; or none, on a connection that is reset before the query runs.
   */
  | { kind: 'late'; ms: number; isReset?: true }
  /** Received, without a response. */
  | { kind: 'hang' }
  /** Headers and the first rows, then nothing more, on an open connection. */
  | { kind: 'hang-in-body' }
  /** Byte after byte, so slowly that it takes a minute and no idle time is ever long. */
  | { kind: 'slow-body' }
  /** The connection is reset before any response. */
  | { kind: 'reset' }
  /**
   * The connection ends before the rows do: in the middle of one, or between two where `framing` still tells.
   */
  | { kind: 'cut'; framing: 'chunked' | 'length' | 'none'; where: 'in-row' | 'between-rows' }
  /** An error of the engine, as a server that waits for the end of the query answers it. */
  | { kind: 'exception'; code: number }
  /**
   * 200, the first rows, and then an exception, in the words of servers before 24.11 (`plain`, in a body that
   * ends well), up to 25.10 (`broken`, in one that does not), since 25.11 (`tagged`), or as one more row
   * (`row`).
   */
  | { kind: 'exception-in-body'; code: number; form: 'plain' | 'broken' | 'tagged' | 'row' }
  /** Something in between answers with words of its own. */
  | { kind: 'stranger'; status: number; body: string };

/** A failure, and which queries it hits. */
export interface FailureOrder {
  failure: FailureMode;
  /** The query's name, its `log_comment`; any query where left out. */
  on?: string;
  /** How many queries pass before. */
  skip?: number;
  /** How many queries it hits; all where left out. */
  times?: number;
}

/** What became of a query as the server saw it. */
export interface SeenQuery {
  /** Its `log_comment`; empty for what has none. */
  name: string;
  /** Settings from the URL. */
  settings: Record<string, string>;
  /** `client_closed`: the client closed the connection before the response was sent. */
  outcome: 'running' | 'answered' | 'client_closed';
}

/** What a test may tell the server, over the channel of its process. */
export type Order =
  | { do: 'fail'; order: FailureOrder }
  | { do: 'heal' }
  /** Closes the listener and every connection. */
  | { do: 'refuse' }
  | { do: 'accept' }
  /** Asks for the last few thousand queries. */
  | { do: 'report' };

/** The first message of the process: it listens. */
export interface Started {
  port: number;
}

export interface Reply {
  id: number;
  seen: SeenQuery[];
}
