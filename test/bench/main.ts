import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sizeThreadPool } from '../../src/entry/bootstrap/thread-pool.cjs';
import { readMemory, thisMachine } from './machine.js';
import { type Options, UsageError, readOptions } from './options.js';
import { Peers } from './peers/peers.js';
import { progress } from './report/progress.js';
import { report } from './report/report.js';
import type { Results } from './report/results.js';
import { measureAlerts } from './sections/alerts.js';
import { measureAtOnce } from './sections/at-once.js';
import { measureBeside } from './sections/beside.js';
import { measureCollector } from './sections/collector.js';
import { measureDashboard } from './sections/dashboard.js';
import { measureExports } from './sections/exports.js';
import { measureImport } from './sections/import.js';
import { measureImportGrowth } from './sections/import-growth.js';
import { measureOperations } from './sections/operations.js';
import { measureSessions } from './sections/sessions.js';
import { measureSideBySide } from './sections/side-by-side.js';
import { measureStartUp } from './sections/start-up.js';
import { measureStorage } from './sections/storage.js';
import { measureTeam } from './sections/team.js';
import { Service } from './service.js';
import { type DataSet, ROOT, Workspace } from './workspace.js';

/** Growth is measured from here. */
const SMALL_ROWS = 1_000_000;

async function run(options: Options, workspace: Workspace): Promise<Results> {
  const results: Results = {
    machine: thisMachine(),
    at: new Date().toISOString(),
    rows: options.rows,
    peers: [],
    operations: [],
    atOnce: [],
    sessions: [],
    tables: [],
    imports: [],
    importGrowth: [],
    sides: [],
  };
  if (!needsNoDataSet(options)) await overDataSet(results, options, workspace);
  results.imports = await measureImport(workspace, options);
  results.importGrowth = await measureImportGrowth(workspace, options);
  results.sides = await measureSideBySide(workspace, options);
  results.collector = await measureCollector(options);
  return results;
}

/** Imports and the collector have stores of their own. */
const OWN_STORES = ['import', 'growth', 'side-by-side', 'collector', 'collector-hub', 'collector-otlp'];

function needsNoDataSet({ only }: Options): boolean {
  return only.length > 0 && only.every((part) => OWN_STORES.includes(part));
}

async function overDataSet(results: Results, options: Options, workspace: Workspace) {
  progress(`data set of ${options.rows} rows`);
  const dataSet = await workspace.dataSet(options.rows, options.exportRows);
  const startUp = await measureStartUp(dataSet, workspace, options);
  if (startUp) results.startUp = startUp;
  results.sessions = await measureSessions(dataSet, workspace, options);
  await overService(dataSet, results, options, workspace);
}

async function overService(dataSet: DataSet, results: Results, options: Options, workspace: Workspace) {
  const service = await Service.start(dataSet, workspace);
  const small = options.rows > SMALL_ROWS ? await startSmall(workspace) : undefined;
  if (small) results.smallRows = SMALL_ROWS;
  const peers = options.peers ? await startPeers(dataSet, service, workspace) : undefined;
  try {
    results.operations = await measureOperations({ service, small, peers }, options);
    results.atOnce = await measureAtOnce(service, options);
    const beside = await measureBeside(service, options);
    if (beside) results.beside = beside;
    const exports = await measureExports(service, options, dataSet);
    if (exports) results.exports = exports;
    const team = await measureTeam(service, workspace, options);
    if (team) results.team = team;
    const dashboard = await measureDashboard(service, options);
    if (dashboard) results.dashboard = dashboard;
    const alerts = await measureAlerts(service, options, dataSet.anchor);
    if (alerts) results.alerts = alerts;
    results.afterMb = readMemory(service.server.pid).rssMb;
    results.tables = await measureStorage(service.server);
    if (peers) {
      results.peers = peers.versions;
      results.peerBytes = peers.bytes;
    }
  } finally {
    await Promise.all([service.stop(), small?.stop(), peers?.stop()]);
  }
}

async function startSmall(workspace: Workspace): Promise<Service> {
  progress(`data set of ${SMALL_ROWS} rows`);
  return Service.start(await workspace.dataSet(SMALL_ROWS), workspace);
}

function startPeers(dataSet: DataSet, service: Service, workspace: Workspace): Promise<Peers> {
  progress('PostgreSQL and DuckDB');
  return Peers.start(dataSet, service.server, workspace);
}

async function main() {
  const options = readOptions(process.argv.slice(2));
  // Servers of the benchmark have the thread pool that the product's own entry makes.
  sizeThreadPool();
  const workspace = new Workspace(options.directory);
  try {
    const results = await run(options, workspace);
    const file = join(ROOT, 'dist-bench/results', `${results.at.slice(0, 19).replaceAll(':', '')}.json`);
    mkdirSync(join(ROOT, 'dist-bench/results'), { recursive: true });
    writeFileSync(file, JSON.stringify(results, null, 2));
    process.stdout.write(`${report(results)}\n\nAll figures: ${file}\n`);
    if (results.operations.some(({ differences }) => differences !== '')) process.exitCode = 1;
  } finally {
    if (!options.keep) workspace.remove();
  }
}

// So that what was started is ended too.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

try {
  await main();
} catch (error) {
  const message = error instanceof UsageError ? error.message : error instanceof Error ? error.stack : error;
  process.stderr.write(`${String(message)}\n`);
  process.exitCode = 1;
}
