import { Session } from 'chdb';

/** A statement with what came beside it. */
export interface Statement {
  query: string;
  database: string | undefined;
  /** Settings by name, as they were sent. */
  settings: Readonly<Record<string, string>>;
  /** Values of placeholders by name, in the server's own escaped form: the engine reads and binds them. */
  params: Readonly<Record<string, string>>;
  /** The output format of a statement that names none. */
  format: string;
}

export interface Rows {
  body: Buffer;
  rowsRead: number;
  bytesRead: number;
  seconds: number;
}

/** Only a server has these: they say how it answers, not how the engine works. */
const OF_THE_SERVER = new Set(['wait_end_of_query', 'enable_http_compression']);

/**
 * The embedded engine on a directory, each statement in a session of its own, as a server gives each request
 * one.
 */
export class Engine {
  /** The directory stays open between statements. */
  private readonly keeper: Session;

  constructor(private readonly directory: string) {
    this.keeper = new Session(directory);
  }

  /** @throws the engine's error, whose message reads `Code: N. DB::Exception: … (NAME)`. */
  async run({ query, database, settings, params, format }: Statement): Promise<Rows> {
    const session = new Session(this.directory);
    try {
      if (database !== undefined) await session.queryAsync(`USE ${identifier(database)}`);
      const changes = [
        ...Object.entries(settings).filter(([name]) => !OF_THE_SERVER.has(name)),
        ...Object.entries(params).map(([name, value]) => [`param_${name}`, value] as const),
      ];
      if (changes.length > 0) await session.queryAsync(`SET ${changes.map(assignment).join(', ')}`);
      const result = await session.queryAsync(query, { format });
      const { rowsRead, bytesRead, elapsed } = result;
      return { body: Buffer.from(result.bytes()), rowsRead, bytesRead, seconds: elapsed };
    } finally {
      session.close();
    }
  }

  close() {
    this.keeper.close();
  }
}

function assignment([name, value]: readonly [string, string]): string {
  return `${identifier(name)} = '${value.replace(/[\\']/g, '\\$&')}'`;
}

function identifier(name: string): string {
  return `\`${name.replace(/[\\`]/g, '\\$&')}\``;
}
