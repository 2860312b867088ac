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
  // Behind the name, which may hold anything, user and system time are fields 14 and 15, in hundredths.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
