import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { SERVICE_NODE_OPTIONS } from '../../setup/product-process.js';
import { median } from '../load/stats.js';
import { readMemory } from '../machine.js';
import { type Options, wants } from '../options.js';
import { freePort } from '../peers/postgres-cluster.js';
import { progress } from '../report/progress.js';
import { type DataSet, ROOT, type Workspace } from '../workspace.js';

const STARTS = 3;
const IDLE_MS = 2_000;

/** The product's own entry, from the start of its process to its first response from the store. */
export interface StartUp {
  ms: number;
  /** Resident memory two seconds later, before any request. */
  idleMb: number;
}

export async function measureStartUp(
  dataSet: DataSet,
  workspace: Workspace,
  options: Options,
): Promise<StartUp | undefined> {
  if (!wants(options, 'start-up')) return undefined;
  progress('start-up');
  const starts: StartUp[] = [];
  for (let nth = 0; nth < STARTS; nth++) starts.push(await start(dataSet, workspace.file('main.log')));
  return { ms: median(starts.map(({ ms }) => ms)), idleMb: median(starts.map(({ idleMb }) => idleMb)) };
}

async function start({ dataDir }: DataSet, log: string): Promise<StartUp> {
  const port = await freePort();
  const output = openSync(log, 'a');
  const startedAt = performance.now();
  const server = spawn(process.execPath, [...SERVICE_NODE_OPTIONS, join(ROOT, 'dist/main.cjs')], {
    env: { ...process.env, DATA_DIR: dataDir, PORT: String(port), HOST: '127.0.0.1' },
    stdio: ['ignore', output, output],
  });
  const gone = new Promise((ok) => server.once('exit', ok));
  while (!(await isReady(port))) {
    if (server.exitCode !== null) throw new Error(`The server did not start; see ${log}`);
    await wait(5);
  }
  const ms = performance.now() - startedAt;
  await wait(IDLE_MS);
  const idleMb = readMemory(server.pid ?? 0).rssMb;
  server.kill('SIGTERM');
  await gone;
  return { ms, idleMb };
}

async function isReady(port: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
  await response?.text();
  return response?.ok ?? false;
}
