import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** Sends a process the signal and resolves once it has ended, which it may have done before. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
