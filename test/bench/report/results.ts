import type { Machine } from '../machine.js';
import type { PeerBytes } from '../peers/peers.js';
import type { AlertsCost } from '../sections/alerts.js';
import type { AtOnce } from '../sections/at-once.js';
import type { Beside } from '../sections/beside.js';
import type { CollectorRates } from '../sections/collector.js';
import type { DashboardTimes } from '../sections/dashboard.js';
import type { Exports } from '../sections/exports.js';
import type { Import } from '../sections/import.js';
import type { ImportGrowth } from '../sections/import-growth.js';
import type { Operation } from '../sections/operations.js';
import type { SessionsRate } from '../sections/sessions.js';
import type { Side } from '../sections/side-by-side.js';
import type { StartUp } from '../sections/start-up.js';
import type { TableSize } from '../sections/storage.js';
import type { TeamRates } from '../sections/team.js';

/** All figures of one run: what the JSON file holds, and what the tables are made of. */
export interface Results {
  machine: Machine;
  /** ISO 8601. */
  at: string;
  rows: number;
  /** Rows of the data set that growth is measured against; absent when it is this one. */
  smallRows?: number;
  /** Names and versions of the other databases. */
  peers: string[];
  startUp?: StartUp;
  operations: Operation[];
  atOnce: AtOnce[];
  sessions: SessionsRate[];
  beside?: Beside;
  exports?: Exports;
  team?: TeamRates;
  dashboard?: DashboardTimes;
  alerts?: AlertsCost;
  /** Resident memory of the server after all of the above, in MB. */
  afterMb?: number;
  tables: TableSize[];
  peerBytes?: PeerBytes;
  imports: Import[];
  importGrowth: ImportGrowth[];
  sides: Side[];
  collector?: CollectorRates;
}
