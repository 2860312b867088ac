import { type Command, Option } from 'commander';
import { MEASURES } from '../../api/changes/measure-change.js';
import { DAY_MS } from '../../shared/time/units.js';
import { SERVICE_VARIABLES, askService, readAnswer } from './ask-service.js';
import { count, examples, id, time } from './options.js';
import { printResult } from './output.js';

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
    .addHelpText('after', SERVICE_VARIABLES)
    .addHelpText(
      'after',
      examples(
        'changes --app 1 --measure errors --since 6h',
        'changes --app 1 --since-release 2.14.1 --env prod',
      ),
    )
    .action(async (options: ChangesOptions) => {
      printResult(readAnswer(await askService(`apps/${options.app}/changes`, toBody(options))));
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
