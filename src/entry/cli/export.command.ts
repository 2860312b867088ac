import { type Command, InvalidArgumentError, Option } from 'commander';
import { EXPORT_FORMATS } from '../../shared/file-format.js';
import { runAudited } from './audit.js';
import type { ExportOptions } from './export.js';
import { id, time } from './options.js';
import { withStore } from './with-store.js';

/** The options of `export.js`; filters and fields are still text. */
interface ExportCommandOptions extends Omit<ExportOptions, 'filter' | 'fields'> {
  filter?: string[];
  fields?: string;
}

const FILTER = '--filter <filter>';
const FIELDS = '--fields <names>';
const EXAMPLES = `
Examples:
  request-analytics export --app 1 --output requests.ndjson
  request-analytics export --app 1 --since 2026-11-19 --until 2026-11-20 --format parquet --output day.parquet
  request-analytics export --app 1 --filter 'status_code gte 500' --filter 'path like /v1/%' | jq .url
  request-analytics export --app 1 --since 1h --format har --output requests.har
  request-analytics export --app 1 --resume requests.ndjson

A filter is a field, an operator and a value: 'status_code in 500,503', 'consumer_id is_null', 'request_headers[accept] eq */*'.
NDJSON without --fields has all that is kept of a request, and 'import' takes it.`;

export function exportCommand(program: Command): void {
  program
    .command('export')
    .description('write the request logs of an app to a file, oldest first')
    .requiredOption('--app <id>', 'app ID', id)
    .addOption(
      new Option('--format <format>', 'format of the file').choices(EXPORT_FORMATS).default('ndjson'),
    )
    .option(
      '--since <time>',
      'start of the window, ISO 8601, 24h, today, monday; all that is kept when not given',
      time,
    )
    .option('--until <time>', 'end of the window, exclusive; now when not given', time)
    .option(FILTER, 'only requests for which it holds; can be repeated', append)
    .option(FIELDS, 'fields of a row, separated by commas')
    .option('--output <file>', 'where to write; standard output when not given')
    .addOption(
      new Option(
        '--resume <file>',
        'continue a file of NDJSON, CSV or HAR that broke off, with the same options, which FILE.resume has',
      ).conflicts('output'),
    )
    .addHelpText('after', EXAMPLES)
    .action(async ({ filter = [], fields, ...options }: ExportCommandOptions, command: Command) => {
      // Loaded here: no other command needs the fields, their validation and the formats.
      const { exportRequestLogs, parseFields, parseFilter } = await import('./export.js');
      const parsed = {
        ...options,
        filter: filter.map((text) => parse(command, FILTER, text, parseFilter)),
        ...(fields !== undefined && { fields: parse(command, FIELDS, fields, parseFields) }),
      };
      await runAudited('export', { app_id: options.app, format: options.format }, () =>
        withStore((store) => exportRequestLogs(store, parsed)),
      );
    });
}

const append = (text: string, texts: readonly string[] = []) => [...texts, text];

/** Parses the text of an option; an invalid text ends the command like commander's own parsing. */
function parse<Value>(command: Command, flags: string, text: string, parser: (text: string) => Value): Value {
  try {
    return parser(text);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    const { code, message } = error;
    return command.error(`error: option '${flags}' argument '${text}' is invalid. ${message}`, { code });
  }
}
