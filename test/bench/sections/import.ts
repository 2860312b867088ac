import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createApp, importFile } from '../command.js';
import { type Options, wants } from '../options.js';
import { progress } from '../report/progress.js';
import type { Workspace } from '../workspace.js';
import { writeLines } from './import-lines.js';

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
  await createApp(dataDir, log);
  const { ms, peakMb } = await importFile(file, lines, dataDir, log);
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
