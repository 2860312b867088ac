import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Config, ConfigError } from '../../config/config.js';
import type { LogDestination } from '../../telemetry/logger.js';
import type { RunningServer } from './api-server.js';
import { loadEnvFile } from './env-file.js';

/** `EX_CONFIG` of sysexits.h: the configuration is invalid, and a restart will not help. */
const EXIT_CONFIG = 78;
/** Longest stop, after `SHUTDOWN_DELAY_MS`: orchestrators kill after ten seconds or more. */
const STOP_WITHIN_MS = 9_500;

/** The code of the thread that kills the process. */
const KILL_LATER = `
const { workerData } = require('node:worker_threads');
setTimeout(() => process.kill(process.pid, 'SIGKILL'), workerData);
`;

/** The message of a failed start: one line if the cause is known. */
export function formatStartupError(error: unknown): { line: string; exitCode: number } {
  if (error instanceof ConfigError) return { line: error.message, exitCode: EXIT_CONFIG };
  return { line: error instanceof Error ? error.message : String(error), exitCode: 1 };
}

/**
 * Serves until SIGTERM or SIGINT. Then it is no longer ready; after `SHUTDOWN_DELAY_MS` requests in flight
 * finish, the store is closed and the process exits with 0. A signal during the start stops the server as
 * soon as it has started. After 9.5 more seconds the process is killed with SIGKILL.
 */
export async function runServer(logs?: LogDestination, given?: Config): Promise<RunningServer | undefined> {
  return run(
    async (config) =>
      config.collector.isBesideApi
        ? (await import('./collector-server.js')).startAll(logs, config)
        : (await import('./api-server.js')).startServer(logs, false, config),
    given,
  );
}

/** Runs the collector alone; see `runServer`. */
export async function runCollector(): Promise<RunningServer | undefined> {
  return run(async () => (await import('./collector-server.js')).startCollector());
}

async function run(
  start: (config: Config) => Promise<RunningServer>,
  given?: Config,
): Promise<RunningServer | undefined> {
  try {
    loadEnvFile();
    const config = given ?? new Config();
    // Listens before the start, so that a signal during the start also closes everything.
    const stopRequest = awaitStopSignal();
    stopRequest.addEventListener('abort', () => {
      killAfter(config.shutdownDelayMs + STOP_WITHIN_MS);
    });
    const server = await start(config);
    if (stopRequest.aborted) await stop(server, 0);
    else stopRequest.addEventListener('abort', () => void stop(server, config.shutdownDelayMs));
    return server;
  } catch (error) {
    report(error);
    return undefined;
  }
}

/** Aborts at the first SIGTERM or SIGINT. */
function awaitStopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'])
    process.once(signal, () => {
      controller.abort();
    });
  return controller.signal;
}

async function stop(server: RunningServer, delayMs: number): Promise<never> {
  server.drain();
  await pause(delayMs);
  await server.stop().catch(report);
  process.exit();
}

function report(error: unknown) {
  const { line, exitCode } = formatStartupError(error);
  process.stderr.write(`${line}\n`);
  process.exitCode = exitCode;
}

/**
 * Kills the process with SIGKILL from a separate thread: a timer would not fire while the event loop is busy,
 * and an exit during a query of the embedded engine hangs.
 */
function killAfter(ms: number) {
  new Worker(KILL_LATER, { eval: true, workerData: ms, execArgv: [] }).unref();
}
