import { type Command, InvalidArgumentError } from 'commander';
import { setVariable } from '../../config/config.js';
import { identifierDecoder } from '../../sources/decoding/request-decoders.js';
import { SPOKEN_TIMES, parseSpokenTime } from '../../shared/time/spoken-time.js';
import { parseTimestamp, resolveTimestamp } from '../../shared/time/timestamp.js';

/** The limit of IDs (docs/contract.md#ids); larger numbers would not fit into the columns of the store. */
const MAX_ID = 2 ** 31 - 1;

/** Options that stand for a variable of the configuration. They go before the environment and `.env`. */
const VARIABLES = {
  dataDir: 'DATA_DIR',
  host: 'HOST',
  port: 'PORT',
  collectorPort: 'COLLECTOR_PORT',
} as const;

/** Sets the variables for which options were given to a command. */
export function setVariables(command: Command): void {
  const options = command.optsWithGlobals<Partial<Record<keyof typeof VARIABLES, string>>>();
  for (const [option, variable] of Object.entries(VARIABLES)) {
    const value = options[option as keyof typeof VARIABLES];
    if (value !== undefined) setVariable(variable, value);
  }
}

/** The variables of a command that serves, for the end of its help. */
export const SERVER_VARIABLES =
  '\nThe variables PORT, COLLECTOR_PORT, HOST and DATA_DIR say the same, in the environment or in .env. Others are\n' +
  'COLLECTOR (off: no collector), CLICKHOUSE_URL (a server instead of the engine inside), METRICS_PORT and TRUST_PROXY.\n' +
  '.env.example describes all of them.';

/** A positive whole number, as an option's value. */
export function id(value: string): number {
  if (!/^[1-9]\d{0,9}$/.test(value) || Number(value) > MAX_ID)
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${MAX_ID}.`);
  return Number(value);
}

/** A whole number that fits into 32 bits, as an option's value. */
export function count(value: string): number {
  if (!/^\d{1,9}$/.test(value))
    throw new InvalidArgumentError('It must be a whole number of at most nine digits.');
  return Number(value);
}

/** Positive whole numbers separated by commas, each once. */
export function ids(value: string): number[] {
  return [...new Set(value.split(',').map((item) => id(item.trim())))];
}

/**
 * An identifier in its stored form: without white space around it, and at most as long as client libraries
 * send it.
 */
export function consumerIdentifier(value: string): string {
  const stored = identifierDecoder.decode(value);
  if (stored === undefined) throw new InvalidArgumentError('It must be the identifier of a consumer.');
  return stored;
}

/** The options that say which requests a rule is about, and how many it needs. */
export function addRuleFilters(command: Command): Command {
  return command
    .option('--min-requests <n>', 'with fewer requests a window says nothing', count)
    .option('--env <name>', 'only this environment')
    .option('--method <method>', 'only this method')
    .option('--path <path>', 'only this endpoint; `*` matches any characters')
    .option('--consumer <identifier>', 'only this consumer')
    .option('--group <name>', 'only consumers of this group')
    .option('--status <status>', 'only this status, such as 404 or 5xx');
}

/** Text for the end of a command's help. */
export function examples(...commands: readonly string[]): string {
  return `\nExamples:\n${commands.map((command) => `  request-analytics ${command}`).join('\n')}`;
}

/** An ISO 8601 time, UTC without an offset, or one as people say it, in milliseconds since the epoch. */
export function time(value: string): number {
  const spoken = parseSpokenTime(value, Date.now());
  if (spoken !== undefined) return spoken;
  const timestamp = parseTimestamp(value);
  if (timestamp.kind === 'invalid')
    throw new InvalidArgumentError(`It must be an ISO 8601 date or time, ${SPOKEN_TIMES}.`);
  return resolveTimestamp(timestamp);
}

/** A time in the future: ISO 8601, or `30d`, which here is in 30 days. */
export function futureTime(value: string): number {
  const now = Date.now();
  const at = time(value);
  const isDuration = /^\d+[mhdw]$/.test(value);
  if (at <= now && !isDuration) throw new InvalidArgumentError('It must be in the future.');
  return isDuration ? now + (now - at) : at;
}
