import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Case } from '../cases/case.js';
import type { Subject } from '../load/interleave.js';
import { Child } from '../rpc.js';
import type { ServerHandlers } from '../server/server.js';
import type { DataSet, Workspace } from '../workspace.js';
import type { DuckDbHandlers } from './duckdb-server.js';
import { HOW_TO_INSTALL, postgresPrograms } from './postgres-cluster.js';
import { Postgres } from './postgres.js';
import { PEER_TABLES, exportTable } from './tables.js';

/** Bytes that a table takes in each database, indexes and all. */
export type PeerBytes = Record<string, { postgres: number; duckdb: number }>;

/** PostgreSQL and DuckDB over the same rows. */
export class Peers {
  private constructor(
    private readonly postgres: Postgres,
    private readonly duckdb: Child<DuckDbHandlers>,
    readonly bytes: PeerBytes,
    readonly versions: string[],
  ) {}

  /** Starts both, loaded from the engine when they are not yet. */
  static async start(
    { directory }: DataSet,
    server: Child<ServerHandlers>,
    workspace: Workspace,
  ): Promise<Peers> {
    const programs = postgresPrograms();
    if (programs === undefined) throw new Error(HOW_TO_INSTALL);
    chmodSync(directory, 0o755);
    const loaded = join(directory, 'peers.json');
    const places = { postgres: join(directory, 'postgres'), duckdb: join(directory, 'duckdb.db') };
    if (!existsSync(loaded))
      for (const place of Object.values(places)) rmSync(place, { recursive: true, force: true });
    const postgres = await Postgres.open(programs, places.postgres, workspace.file('postgres.log'));
    const duckdb = await Child.start<DuckDbHandlers>('./peers/duckdb-server.js', {
      args: [places.duckdb],
      log: workspace.file('duckdb.log'),
    });
    if (!existsSync(loaded))
      writeFileSync(loaded, JSON.stringify(await load({ postgres, duckdb, server, directory })));
    const bytes = JSON.parse(readFileSync(loaded, 'utf8')) as PeerBytes;
    return new Peers(postgres, duckdb, bytes, [await postgres.version(), await duckdb.call('version')]);
  }

  /** The case in both databases; none when they have no such question. */
  subjects(benchmarkCase: Case): Subject[] {
    const { id, peer } = benchmarkCase;
    if (!peer) return [];
    return [
      { name: 'postgres', sample: async (nth) => (await this.postgres.answer(id, peer, nth)).ms },
      { name: 'duckdb', sample: (nth) => this.duckdb.call('sample', id, peer.sql, peer.values(nth)) },
    ];
  }

  /** What each answers to the case: of each row, the columns that are compared. */
  async rows({ id, peer }: Case): Promise<{ name: string; rows: string[][] }[]> {
    if (!peer) return [];
    const { rows } = await this.postgres.answer(id, peer, 0);
    const answers = { postgres: rows, duckdb: await this.duckdb.call('rows', id, peer.sql, peer.values(0)) };
    return Object.entries(answers).map(([name, all]) => ({
      name,
      rows: all.map((row) => peer.columns.map((column) => row[column] ?? '')),
    }));
  }

  async stop(): Promise<void> {
    await Promise.all([this.postgres.stop(), this.duckdb.stop()]);
  }
}

async function load(of: {
  postgres: Postgres;
  duckdb: Child<DuckDbHandlers>;
  server: Child<ServerHandlers>;
  directory: string;
}): Promise<PeerBytes> {
  const bytes: PeerBytes = {};
  const csv = join(of.directory, 'export.csv');
  for (const table of PEER_TABLES) {
    await exportTable(of.server, table, csv);
    chmodSync(csv, 0o644);
    await of.postgres.load(table, csv);
    const duckdb = await of.duckdb.call('load', table, csv);
    bytes[table.name] = { postgres: await of.postgres.measureBytes(table.name), duckdb };
    rmSync(csv);
  }
  return bytes;
}
