import type { LoggerService } from '@nestjs/common';
import { type Level, type Logger as Pino, destination, pino } from 'pino';

/** Destination of log lines: a command must leave standard output to its result. */
export type LogDestination = 'stdout' | 'stderr';

const FILE_DESCRIPTOR = { stdout: 1, stderr: 2 } as const;

/** Largest number of unread bytes; further lines are dropped. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
const servers = new Map<LogDestination, Pino>();
let dropped = 0;

/** The log of a command, written synchronously to an open file. */
export function createCommandLogger(fd: number): Pino {
  return pino({ base: null }, destination({ fd, sync: true }));
}

/**
 * The log of a server: one per process and destination, because the lines of two would mix. It never waits
 * for its reader: when 4 MiB are unread, further lines are dropped, and their number is logged once the
 * reader continues.
 */
export function createServerLogger(level: string, to: LogDestination): Pino {
  const logger = servers.get(to) ?? openServerLogger(to);
  servers.set(to, logger);
  logger.level = level;
  return logger;
}

/** Lines that servers dropped since the process started. */
export function countDroppedLines(): number {
  return dropped;
}

function openServerLogger(to: LogDestination): Pino {
  const output = destination({ fd: FILE_DESCRIPTOR[to], sync: false, maxLength: MAX_UNREAD_BYTES });
  const logger = pino({ base: null }, output);
  let reported = dropped;
  output.on('drop', () => dropped++);
  output.on('drain', () => {
    const lines = dropped - reported;
    reported = dropped;
    if (lines > 0) logger.warn({ lines }, 'log lines were dropped, because nothing read the output');
  });
  return logger;
}

/** Contexts in which the framework logs its setup, which is the same at every start. */
const ROUTINE = new Set<unknown>([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/** The framework's log calls as structured lines. */
export class PinoLogger implements LoggerService {
  constructor(readonly pino: Pino) {}

  log(message: unknown, ...context: unknown[]) {
    this.write(ROUTINE.has(context.at(-1)) ? 'debug' : 'info', message, context);
  }
  error(message: unknown, ...context: unknown[]) {
    this.write('error', message, context);
  }
  warn(message: unknown, ...context: unknown[]) {
    this.write('warn', message, context);
  }
  debug(message: unknown, ...context: unknown[]) {
    this.write('debug', message, context);
  }
  verbose(message: unknown, ...context: unknown[]) {
    this.write('trace', message, context);
  }
  fatal(message: unknown, ...context: unknown[]) {
    this.write('fatal', message, context);
  }

  private write(level: Level, message: unknown, context: unknown[]) {
    const fields = { context: context.at(-1), ...(message instanceof Error ? { err: message } : {}) };
    this.pino[level](fields, message instanceof Error ? message.message : String(message));
  }
}
