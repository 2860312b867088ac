import type { LoggerService } from '@nestjs/common';
import { type Level, type Logger as Pino, destination, pino } from 'pino';

/** Where log lines go: a server's are its output, a command's must leave standard output to the result. */
export type LogDestination = 'stdout' | 'stderr';

const FILE_DESCRIPTOR = { stdout: 1, stderr: 2 } as const;

export function createPino(level: string, to: LogDestination): Pino {
  return pino({ level, base: null }, destination({ fd: FILE_DESCRIPTOR[to], sync: true }));
}

/** Contexts in which the framework lists what it sets up: the same at every start. */
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
