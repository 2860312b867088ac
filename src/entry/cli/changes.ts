import { type Command, Option } from 'commander';
import { MEASURES } from '../../api/changes/measure-change.js';
import { Config, ConfigError } from '../../config/config.js';
import { ServiceUnreachable, callService } from '../../mcp/call-service.js';
import { AdminError } from '../../ops/admin/admin.error.js';
import { parseJson } from '../../shared/json/parse-json.js';
import { count, examples, id, time } from './options.js';
import { printResult } from './output.js';

const DAY_MS = 86_400_000;

interface ChangesOptions {
  app: number;
  measure: string;
  /** Milliseconds since the epoch, like all times here. */
  since?: number;
  sinceRelease?: string;
  until?: number;
  baselineSince?: number;
  baselineUntil?: number;
  env?: string;
  limit?: number;
}

export function changesCommand(program: Command): void {
  program
    .command('changes')
    .description(
      'explain what changed between two windows, or since a release, by Explain Change of a service',
    )
    .requiredOption('--app <id>', 'app ID', id)
    .addOption(new Option('--measure <measure>', 'what is compared').choices(MEASURES).default('requests'))
    .option('--since <time>', 'start of the window, ISO 8601, 24h, today, monday; 24h when not given', time)
    .addOption(
      new Option('--since-release <version>', 'start of the window: when this version began').conflicts(
        'since',
      ),
    )
    .option('--until <time>', 'end of the window, exclusive; now when not given', time)
    .option(
      '--baseline-since <time>',
      'start of the baseline; as long before as the window when not given',
      time,
    )
    .option('--baseline-until <time>', 'end of the baseline; the start of the window when not given', time)
    .option('--env <name>', 'only this environment')
    .option('--limit <number>', 'groups of each dimension', count)
    .addHelpText('after', '\nAPI_URL is the address of the service, API_KEY an API key for it.')
    .addHelpText(
      'after',
      examples(
        'changes --app 1 --measure errors --since 6h',
        'changes --app 1 --since-release 2.14.1 --env prod',
      ),
    )
    .action(async (options: ChangesOptions) => {
      const { url, key } = new Config().api;
      if (key === undefined) throw new ConfigError('Invalid configuration. API_KEY: must be set');
      const address = `${url.replace(/\/+$/, '')}/v1/apps/${options.app}/changes`;
      printResult(await explain(address, key, toBody(options)));
    });
}

function toBody({ measure, since, sinceRelease, until, env, limit, ...baseline }: ChangesOptions): object {
  const toIso = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString());
  return {
    measure,
    ...(sinceRelease === undefined
      ? { since: toIso(since ?? Date.now() - DAY_MS) }
      : { since_release: sinceRelease }),
    until: toIso(until),
    baseline_since: toIso(baseline.baselineSince),
    baseline_until: toIso(baseline.baselineUntil),
    ...(env !== undefined && { filters: [{ field: 'env', op: 'eq', value: env }] }),
    limit,
  };
}

/** @throws AdminError if the service refuses the question, or cannot be reached */
async function explain(url: string, key: string, body: object): Promise<object> {
  const { response, text } = await callService(url, key, body).catch((error: unknown) => {
    throw error instanceof ServiceUnreachable ? new AdminError(error.message) : error;
  });
  const answer = readAnswer(text);
  if (response.ok && typeof answer === 'object' && answer !== null) return answer;
  throw new AdminError(describeRefusal(response.status, answer));
}

/** The JSON of an answer; null for another text, such as the page of a proxy. */
function readAnswer(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

function describeRefusal(status: number, answer: unknown): string {
  const { detail } = (answer ?? {}) as { detail?: string | { loc: string[]; msg: string }[] };
  const reason = Array.isArray(detail)
    ? detail.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`).join('; ')
    : (detail ?? 'no answer of this service');
  return `The service answered ${status}: ${reason}`;
}
