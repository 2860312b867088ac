import { type Command, InvalidArgumentError, Option } from 'commander';
import { SOURCE_RULE, isSource } from '../../sources/lines/files/line-identity.js';
import { BASE_URL_RULE, parseBaseUrl } from '../../sources/lines/formats/parsed-request.js';
import { envDecoder } from '../../sources/decoding/request-decoders.js';
import { REQUEST_FORMATS } from '../../sources/lines/formats/request-format.js';
import { runAudited } from './audit.js';
import { type ImportFilesOptions, runImport } from './import-files.js';
import { IDENTITY } from './import-report.js';
import { id, time } from './options.js';

const EXAMPLES = `
Examples:
  request-analytics import access.log.gz --app 1
  request-analytics import /var/log/nginx --app 1
  request-analytics import access.log access.log.1 access.log.2.gz --app 1
  request-analytics import access.log --app 1 --source web-2 --base-url https://shop.example.com
  request-analytics import requests.ndjson --app 1 --env staging
  request-analytics import u_ex261120.log --app 1 --format w3c --consumer-from user
  request-analytics import my.log --app 1 --format '$remote_addr [$time_iso8601] "$request" $status $request_time'
  request-analytics import my.log --app 1 --format 'LogFormat "%h %l %u %t \\"%r\\" %>s %b %D" timed'
  request-analytics import app.json --app 1 --map timestamp=ts,method=verb,url=req.url,status_code=res.status
  request-analytics import access.log --app 1 --rejects rejected.log
  xz -dc access.log.xz | request-analytics import - --app 1
  request-analytics import old-sample.log --app 1 --shift-to now

${IDENTITY}`;

export function importCommand(program: Command): void {
  program
    .command('import')
    .description('import requests from files; can be repeated, requests already in the store are skipped')
    .argument(
      '<files...>',
      'NDJSON or access logs, plain or compressed with gzip or zstd, or directories of them; - for standard input',
    )
    .requiredOption('--app <id>', 'app ID', id)
    .option('--env <name>', 'environment of requests that name none', env, 'prod')
    .option('--source <name>', 'where the lines come from, such as the node that logged them', source, '')
    .addOption(
      // The text of a server's configuration is not one of these names, so it is checked later.
      new Option('--format <format>', 'format, or a log_format or LogFormat; detected by default')
        .choices(REQUEST_FORMATS)
        .argParser((value: string) => value),
    )
    .option('--map <members>', 'names of a JSON log: timestamp=ts,url=req.url,status_code=res.status')
    .option('--trust-forwarded', 'X-Forwarded-For names the client, also if the log has a public one', false)
    .option('--base-url <url>', 'base of URLs that are only a path, as in access logs', baseUrl)
    .addOption(new Option('--consumer-from <field>', 'access log field with the consumer').choices(['user']))
    .option('--shift-to <iso|now>', 'move all times so that the last request is at this time', shiftTarget)
    .option('--rejects <file>', 'file for the rejected lines, as they were; one of that name is renamed')
    .addHelpText('after', EXAMPLES)
    .action((paths: string[], options: ImportFilesOptions) =>
      runAudited('import', { app_id: options.app, env: options.env }, () => runImport(paths, options)),
    );
}

function shiftTarget(value: string): number {
  const target = value === 'now' ? Date.now() : time(value);
  if (target > Date.now()) throw new InvalidArgumentError('It must not be in the future.');
  return target;
}

function env(value: string): string {
  if (envDecoder.decode(value) === undefined)
    throw new InvalidArgumentError('It must be 1 to 32 letters, digits, hyphens or underscores.');
  return value;
}

function source(value: string): string {
  if (value === '' || !isSource(value)) throw new InvalidArgumentError(`It ${SOURCE_RULE}.`);
  return value;
}

function baseUrl(value: string): string {
  const base = parseBaseUrl(value);
  if (base === null) throw new InvalidArgumentError(`It ${BASE_URL_RULE}.`);
  return base;
}
