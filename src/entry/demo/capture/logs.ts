import { type CapturedLog, formatMicroseconds } from '../../../records/capture.js';
import type { Entity } from '../endpoints.js';
import type { DemoRequest } from '../demo-request.js';
import type { Random } from '../../../shared/random.js';

type Line = Omit<CapturedLog, 'timestamp'>;

/** Log records of the application during the request, oldest first. */
export function createLogs(random: Random, request: DemoRequest): CapturedLog[] {
  const lines = createLines(random, request);
  const took = request.response_time_ms * 1_000;
  return lines.map((line, index) => {
    // Each line is in its own part of the time, so that they stay in order.
    const at = Math.floor((took * (index + random.fraction())) / lines.length);
    return { timestamp: formatMicroseconds(request.timestamp * 1_000 + at), ...line };
  });
}

function createLines(
  random: Random,
  { method, path, entity, consumer, status_code, response_time_ms }: DemoRequest,
): Line[] {
  const lines = [
    line('DEBUG', `${method} ${path ?? ''} from ${consumer?.identifier ?? 'a guest'}`, 'http', 22),
  ];
  if (entity !== null) lines.push(...workOn(random, entity, method, status_code < 400));
  if (response_time_ms > 1_000)
    lines.push(line('WARNING', `slow request: ${response_time_ms} ms`, 'http', 61));
  if (status_code >= 500) lines.push(line('ERROR', `answered ${status_code}`, 'http', 57));
  else if (status_code >= 400) lines.push(line('WARNING', `rejected with ${status_code}`, 'http', 49));
  return lines;
}

function workOn(random: Random, entity: Entity, method: string, succeeded: boolean): Line[] {
  const message = `query took ${random.integer(1, 40)} ms`;
  // The driver's own log names no files.
  const driver = { level: 'DEBUG', message, logger: 'pg', file: null, line: null };
  if (method === 'GET') return [line('DEBUG', `cache miss for ${entity}`, `shop.${entity}`, 88), driver];
  return succeeded ? [driver, line('INFO', `${entity} written`, `shop.${entity}`, 131)] : [driver];
}

function line(level: string, message: string, logger: string, number: number): Line {
  return { level, message, logger, file: `/app/dist/${logger.replace('.', '/')}.js`, line: number };
}
