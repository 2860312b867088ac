import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';

export interface Machine {
  cpu: string;
  cores: number;
  memoryGiB: number;
  node: string;
  /** Load of the last minute when the run began: other work on the machine. */
  load: number;
}

export function thisMachine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? '',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  };
}

/** Memory of a process in MB: now, and at most so far. NaN where the system does not tell. */
export function readMemory(pid: number): { rssMb: number; peakMb: number } {
  const file = `/proc/${pid}/status`;
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const megabytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1024;
  return { rssMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM') };
}

/** Seconds of processor time that a process took so far (Linux). */
export function readProcessorSeconds(pid: number): number {
  return readTimes(`/proc/${pid}/stat`, OWN_TIMES);
}

/** The same of its first thread alone, in which Node.js runs JavaScript. */
export function readMainThreadSeconds(pid: number): number {
  return readTimes(`/proc/${pid}/task/${pid}/stat`, OWN_TIMES);
}

/** The same of all child processes that ended so far, with those of their own. */
export function readEndedChildrenSeconds(): number {
  return readTimes('/proc/self/stat', CHILDREN_TIMES);
}

// Behind the name, which may hold anything: fields 14 to 17 of the file, in hundredths of a second.
const OWN_TIMES = [11, 12];
const CHILDREN_TIMES = [13, 14];

function readTimes(file: string, fields: readonly number[]): number {
  const values = readFileSync(file, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return fields.reduce((sum, field) => sum + Number(values[field]), 0) / 100;
}
