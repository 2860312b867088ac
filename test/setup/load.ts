import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';

/** Ten workers hit in turns until `stop`, which resolves to the longest wait. */
export function load(hit: () => Promise<unknown>) {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  const waitsMs: number[] = [];
  let isRunning = true;
  delay.enable();
  const worker = async () => {
    while (isRunning) {
      const began = performance.now();
      await hit();
      waitsMs.push(performance.now() - began);
      await pause(1);
    }
  };
  const workers = Promise.all(Array.from({ length: 10 }, worker));
  return {
    /** The longest wait, less what a busy machine alone has added; rejects when a hit was rejected. */
    async stop() {
      isRunning = false;
      await workers;
      delay.disable();
      return Math.max(...waitsMs) - delay.max / 1e6;
    },
  };
}
