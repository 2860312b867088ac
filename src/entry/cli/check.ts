import type { Command } from 'commander';
import type { MetricValues } from '../../api/alerts/rule.js';
import { ConfigError } from '../../config/config.js';
import { AdminError } from '../../ops/admin/admin.error.js';
import { MINUTE_MS } from '../../shared/time/units.js';
import { SERVICE_VARIABLES, askService, readAnswer } from './ask-service.js';
import { addRuleFilters, examples, id } from './options.js';
import { isOutputFailure, printMessage, printResult } from './output.js';

const EXIT_DOES_NOT_HOLD = 1;
const EXIT_NOT_KNOWN = 2;

interface CheckOptions {
  app: number;
  minRequests?: number;
  consumer?: string;
}

interface Check {
  holds: boolean;
  condition: string;
  value: number;
  requests: number;
  since: string;
  until: string;
}

export function checkCommand(program: Command): void {
  const check = program
    .command('check')
    .description('say whether a condition holds for the requests of an app, for cron and CI; asks a service')
    .argument(
      '<condition>',
      "as in 'error_rate < 0.01 over 10m': a metric of Query Metrics, <, <=, > or >=, a number, and the last 10m, 2h or 1d",
    )
    .requiredOption('--app <id>', 'app ID', id)
    // An unknown option must not look like a condition that does not hold.
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_NOT_KNOWN));
  addRuleFilters(check)
    .addHelpText(
      'after',
      `\nExit codes: 0 it holds; ${EXIT_DOES_NOT_HOLD} it does not hold; ${EXIT_NOT_KNOWN} it cannot be told, because there are too few requests, the condition\n` +
        'is not understood, or the service refuses or cannot be reached; 78 invalid configuration.',
    )
    .addHelpText('after', SERVICE_VARIABLES)
    .addHelpText(
      'after',
      examples(
        "check --app 1 'error_rate < 0.01 over 10m'",
        "check --app 1 'response_time_p95 <= 800 over 1h' --env prod --path '/v1/*' --min-requests 100",
      ),
    )
    .action(async (condition: string, options: CheckOptions) => {
      try {
        const result = await runCheck(condition, options);
        const { holds, value, requests } = result;
        const verdict = holds ? 'holds' : 'does not hold';
        printResult(result, `${result.condition} ${verdict}: ${value}, of ${requests} requests`);
        if (!holds) process.exitCode = EXIT_DOES_NOT_HOLD;
      } catch (error) {
        if (error instanceof ConfigError || isOutputFailure(error)) throw error;
        printMessage(`error: ${error instanceof Error ? error.message : String(error)}`);
        process.exitCode = EXIT_NOT_KNOWN;
      }
    });
}

/** @throws AdminError if it cannot be told whether the condition holds */
async function runCheck(condition: string, { app, minRequests, ...filters }: CheckOptions): Promise<Check> {
  // Other commands do not load what checks a rule.
  const { RULE, describeIssues, describeRule, isBeyond, parseCondition, readValue, toFilters } =
    await import('../../api/alerts/rule.js');
  const members = parseCondition(condition);
  if (!members) throw new AdminError("The condition must have the form 'error_rate < 0.01 over 10m'");
  const parsed = RULE.safeParse({ ...members, ...filters, min_requests: minRequests });
  if (!parsed.success) throw new AdminError(describeIssues(parsed.error));
  const rule = parsed.data;
  const { metric } = rule;
  if (metric === 'silence' || metric === 'new_errors' || metric === 'weekly')
    throw new AdminError(`metric: ${metric} is not a metric of Query Metrics`);
  const consumerId = rule.consumer === undefined ? undefined : await findConsumer(app, rule.consumer);
  const until = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  const window = {
    since: new Date(until - rule.window * MINUTE_MS).toISOString(),
    until: new Date(until).toISOString(),
  };
  const row = await askService(`apps/${app}/metrics`, {
    ...window,
    metrics: ['requests', metric],
    filters: toFilters(rule, consumerId),
    format: 'ndjson',
  });
  const values = row === '' ? null : (readAnswer(row) as MetricValues);
  const requests = values?.requests ?? 0;
  if (requests < rule.min_requests)
    throw new AdminError(`The window has ${requests} requests, fewer than --min-requests`);
  const value = readValue(values, metric);
  if (value === null) throw new AdminError(`The window has ${requests} requests, and no ${metric}`);
  return { holds: isBeyond(rule, value), condition: describeRule(rule), value, requests, ...window };
}

async function findConsumer(app: number, identifier: string): Promise<number> {
  let page = '';
  do {
    const { data, next_token } = readAnswer(await askService(`apps/${app}/consumers?limit=1000${page}`)) as {
      data: { id: number; identifier: string }[];
      next_token?: string;
    };
    const found = data.find((consumer) => consumer.identifier === identifier);
    if (found) return found.id;
    page = next_token === undefined ? '' : `&next_token=${encodeURIComponent(next_token)}`;
  } while (page !== '');
  throw new AdminError(`The app has no consumer ${identifier}`);
}
