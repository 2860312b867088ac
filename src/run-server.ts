import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { RunningServer } from './app.factory.js';
import type { LogDestination } from './common/logging/logger.js';
import { Config, ConfigError } from './config/config.js';

/** `EX_CONFIG` of sysexits.h: wrong configuration, restarting will not help. */
const EXIT_CONFIG = 78;
/** A stop takes at most this long, after `SHUTDOWN_DELAY_MS`: orchestrators kill after ten seconds or more. */
const STOP_WITHIN_MS = 9_500;

/** Variables from a `.env` file in the working directory; those of the environment win. */
export function loadEnvFile() {
  if (existsSync('.env')) process.loadEnvFile('.env');
}

/** What a person should read of a failed start: one line where we know why. */
export function explain(error: unknown): { line: string; exitCode: number } {
  if (error instanceof ConfigError) return { line: error.message, exitCode: EXIT_CONFIG };
  return { line: error instanceof Error ? error.message : String(error), exitCode: 1 };
}

/**
 * Serves until SIGTERM or SIGINT; then it is no longer ready, and after `SHUTDOWN_DELAY_MS` requests in flight finish, the
 * store is closed and the process exits with 0.
 */
export async function runServer(logs: LogDestination = 'stdout'): Promise<RunningServer | undefined> {
  return run(async () => (await import('./app.factory.js')).startServer(logs));
}

/** The same for the collector alone. */
export async function runCollector(logs: LogDestination = 'stdout'): Promise<RunningServer | undefined> {
  return run(async () => (await import('./collector/collector.factory.js')).startCollector(logs));
}

/** The same for the API and the collector together. */
export async function runAll(logs: LogDestination = 'stdout'): Promise<RunningServer | undefined> {
  return run(async () => (await import('./collector/collector.factory.js')).startAll(logs));
}

async function run(start: () => Promise<RunningServer>): Promise<RunningServer | undefined> {
  try {
    loadEnvFile();
    const server = await start();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop(server));
    return server;
  } catch (error) {
    const { line, exitCode } = explain(error);
    process.stderr.write(`${line}\n`);
    process.exitCode = exitCode;
    return undefined;
  }
}

async function stop(server: RunningServer) {
  server.drain();
  await pause(server.app.get(Config).shutdownDelayMs);
  // An exit during a query of the embedded engine hangs: past the deadline only a kill ends the process.
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), STOP_WITHIN_MS).unref();
  await server.stop();
  process.exit(0);
}
