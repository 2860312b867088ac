import { copyFileSync, rmSync } from 'node:fs';
import type { CommandOptions, Ran } from '../command.js';
import { inTurn } from '../load/rounds.js';
import { type Options, wants } from '../options.js';
import { progress } from '../report/progress.js';
import { GoAccess } from '../side-by-side/goaccess.js';
import {
  type Keeper,
  type LogFormat,
  type Place,
  type Requests,
  sumFileBytes,
} from '../side-by-side/keeper.js';
import { Engine, OurImport, OurService } from '../side-by-side/ours.js';
import { VictoriaLogs } from '../side-by-side/victoria-logs.js';
import type { Workspace } from '../workspace.js';
import { writeLines } from './import-lines.js';

const ROUNDS = 3;
/** Lines of the files that are sent twice, and with which a program is killed. */
const PROMISED = 20_000;
/** When a program is killed midway: parts of the time that it takes undisturbed. */
const KILLED_AT = [0.25, 0.5, 0.75];

/** The same access log, given to one program. */
export interface Side {
  name: string;
  how: string;
  /** Absent: the program is not installed, and this is how. */
  cost?: SideCost;
  promise?: SidePromise;
  installation?: string;
}

interface SideCost {
  lines: number;
  /** Of the process from its start to its end, a line; the median. */
  processorMicroseconds: number;
  peakMb: number;
  /** On disk, a request: when the program has ended, and after its merges. */
  bytesAfter: number;
  bytesMerged: number;
}

/** What a program has of 20,000 requests. */
interface SidePromise {
  /** Killed with SIGKILL as soon as it reports success. */
  killedAtAnswer: Requests;
  /** Killed at several moments, each time in a new store, and given the whole file again. */
  killedMidway: Requests[];
  /** Given the same file again, undisturbed. */
  again: Requests;
  /** Given a copy of the file after that. */
  copy: Requests;
}

/** Programs that keep an access log, in turns. */
export async function measureSideBySide(workspace: Workspace, options: Options): Promise<Side[]> {
  if (!wants(options, 'side-by-side')) return [];
  const files = await writeFiles(workspace, options.lines);
  const keepers: Keeper[] = [
    new OurImport(),
    new OurService(),
    new Engine(),
    new GoAccess(),
    new VictoriaLogs(),
  ];
  const place = {
    directory: workspace.file('side-by-side'),
    log: workspace.file('side-by-side.log'),
  };
  const installed = keepers.filter(({ program }) => program !== undefined);
  const costs = await measureCosts(installed, place, files, options.lines);
  const sides: Side[] = [];
  for (const keeper of keepers) {
    const { name, how, installation } = keeper;
    const cost = costs.get(keeper);
    sides.push(
      cost
        ? { name, how, cost, promise: await checkPromise(keeper, place, files) }
        : { name, how, ...(installation !== undefined && { installation }) },
    );
  }
  for (const path of [place.directory, ...Object.values(files).flatMap(Object.values<string>)])
    rmSync(path, { recursive: true, force: true });
  return sides;
}

type Files = Record<'many' | 'promised' | 'copies', Record<LogFormat, string>>;

async function writeFiles(workspace: Workspace, lines: number): Promise<Files> {
  const write = async (name: string, count: number, format: LogFormat) => {
    const file = workspace.file(`${name}.${format}`);
    await writeLines(file, count, format);
    return file;
  };
  const copy = (file: string) => {
    copyFileSync(file, `${file}.copy`);
    return `${file}.copy`;
  };
  const both = async (name: string, count: number) => ({
    combined: await write(name, count, 'combined'),
    jsonline: await write(name, count, 'jsonline'),
  });
  const promised = await both('promised', PROMISED);
  return {
    many: await both('many', lines),
    promised,
    copies: { combined: copy(promised.combined), jsonline: copy(promised.jsonline) },
  };
}

async function measureCosts(
  keepers: readonly Keeper[],
  place: Place,
  files: Files,
  lines: number,
): Promise<Map<Keeper, SideCost>> {
  const costs = new Map<Keeper, SideCost>();
  const measures = keepers.map((keeper) => async () => {
    progress(`${keeper.name}: ${lines} lines`);
    const file = files.many[keeper.format];
    await begin(keeper, place, file);
    const { processorSeconds, peakMb } = await keeper.take(place, file);
    const bytesAfter = sumFileBytes(place.directory) / lines;
    const { counted } = await keeper.count(place);
    if (counted !== lines) throw new Error(`${keeper.name}: ${counted} of ${lines} lines; see ${place.log}`);
    const bytesMerged = (await keeper.merge(place)) / lines;
    costs.set(keeper, {
      lines,
      processorMicroseconds: NaN,
      peakMb: Math.max(peakMb, costs.get(keeper)?.peakMb ?? 0),
      bytesAfter,
      bytesMerged,
    });
    return (processorSeconds / lines) * 1e6;
  });
  const took = await inTurn(measures, ROUNDS);
  for (const [index, keeper] of keepers.entries())
    Object.assign(costs.get(keeper) ?? {}, { processorMicroseconds: took[index] });
  return costs;
}

/** Removes what was kept before. */
async function begin(keeper: Keeper, place: Place, file: string) {
  rmSync(place.directory, { recursive: true, force: true });
  await keeper.prepare?.(place, file);
}

async function checkPromise(keeper: Keeper, place: Place, files: Files): Promise<SidePromise> {
  progress(`${keeper.name}: killed, and given files twice`);
  const [file, copy] = [files.promised[keeper.format], files.copies[keeper.format]];
  const start = async (kill?: CommandOptions['kill']): Promise<Ran> => {
    await begin(keeper, place, file);
    return keeper.take(place, file, kill);
  };
  await start('at its answer');
  const killedAtAnswer = await keeper.count(place);
  const { ms } = await start();
  await keeper.take(place, file);
  const again = await keeper.count(place);
  await keeper.take(place, copy);
  const copied = await keeper.count(place);
  const killedMidway: Requests[] = [];
  for (const part of KILLED_AT) {
    await start(Math.round(ms * part));
    await keeper.take(place, file);
    killedMidway.push(await keeper.count(place));
  }
  return { killedAtAnswer, killedMidway, again, copy: copied };
}
