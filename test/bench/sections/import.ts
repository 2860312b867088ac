import { execFile, spawn } from 'node:child_process';
import { openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readMemory } from '../machine.js';
import { type Options, wants } from '../options.js';
import { progress } from '../report/progress.js';
import { ROOT, type Workspace } from '../workspace.js';
import { writeLines } from './import-lines.js';

const LOOK_EVERY_MS = 100;

/** One import by the command line into an empty store. */
export interface Import {
  lines: number;
  fileBytes: number;
  /** From the start of the process to its end. */
  linesPerSecond: number;
  peakMb: number;
  engine: EngineImport;
}

/** The same lines once more into the same tables, by one statement of the engine's. */
export interface EngineImport {
  linesPerSecond: number;
  /** Of processor time, a line. */
  processorMicroseconds: number;
}

/** A quarter of the lines, then all of them: memory must not grow with the file. */
export async function measureImport(workspace: Workspace, options: Options): Promise<Import[]> {
  if (!wants(options, 'import')) return [];
  const results: Import[] = [];
  for (const lines of [Math.round(options.importLines / 4), options.importLines]) {
    progress(`import of ${lines} lines`);
    results.push(await importInto(workspace.file('import'), lines, workspace.file('import.log')));
  }
  return results;
}

async function importInto(dataDir: string, lines: number, log: string): Promise<Import> {
  const file = `${dataDir}.ndjson`;
  rmSync(dataDir, { recursive: true, force: true });
  const fileBytes = await writeLines(file, lines);
  const cli = (...args: string[]) => run(dataDir, log, args);
  await cli('team', 'create', '--name', 'Acme');
  await cli('app', 'create', '--team', '1', '--name', 'Shop');
  const { ms, peakMb, output } = await cli('import', file, '--app', '1');
  const { imported } = JSON.parse(output) as { imported: number };
  if (imported !== lines) throw new Error(`Of ${lines} lines ${imported} were imported; see ${log}`);
  const script = fileURLToPath(new URL('./import-by-engine.js', import.meta.url));
  const env = { ...process.env, DATA_DIR: dataDir };
  const { stdout } = await promisify(execFile)(process.execPath, [script, file, String(lines)], { env });
  rmSync(dataDir, { recursive: true, force: true });
  rmSync(file);
  return {
    ...{ lines, fileBytes, linesPerSecond: lines / (ms / 1000), peakMb },
    engine: JSON.parse(stdout) as EngineImport,
  };
}

/** Runs a command to its end; what it printed. */
async function run(dataDir: string, log: string, args: string[]) {
  const errors = openSync(log, 'a');
  const startedAt = performance.now();
  const command = spawn(process.execPath, [join(ROOT, 'dist-bench/src/cli.cjs'), ...args], {
    env: { ...process.env, DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', errors],
  });
  let output = '';
  command.stdout?.on('data', (bytes: Buffer) => (output += bytes.toString()));
  let peakMb = 0;
  const timer = setInterval(() => {
    peakMb = Math.max(peakMb, readMemory(command.pid ?? 0).peakMb || 0);
  }, LOOK_EVERY_MS);
  const code = await new Promise((ok) => command.once('close', ok));
  clearInterval(timer);
  if (code !== 0) throw new Error(`${args[0]} failed; see ${log}`);
  return { ms: performance.now() - startedAt, peakMb, output };
}
