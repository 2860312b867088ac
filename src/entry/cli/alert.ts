import { type Command, InvalidArgumentError, Option } from 'commander';
import { DAYS } from '../../api/alerts/days.js';
import { PRESETS } from '../../api/alerts/presets.js';
import { Config } from '../../config/config.js';
import { AdminError } from '../../ops/admin/admin.error.js';
import { createAdmin } from '../../ops/admin/admin.js';
import type { AlertsAdmin, RulePlace } from '../../ops/admin/alerts.admin.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { PinoLogger, createServerLogger } from '../../telemetry/logger.js';
import { Telemetry } from '../../telemetry/telemetry.js';
import { runAudited } from './audit.js';
import { addRuleFilters, count, examples, id } from './options.js';
import { printResult, printResults } from './output.js';
import { withStore } from './with-store.js';

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The other options are members of the rule. */
interface CreateOptions extends RulePlace {
  name?: string;
  preset?: string;
  lastWeek?: boolean;
  minRequests?: number;
  webhook?: string[];
  slack?: string[];
  teams?: string[];
  email?: string[];
}

export function alertCommand(program: Command): void {
  const alert = program
    .command('alert')
    .description('rules that tell when something is wrong')
    .addHelpText(
      'after',
      examples('alert create --app 1 --preset errors --email ops@example.com', 'alert list --team 1'),
    );
  addCreate(alert);
  addList(alert);
  addShow(alert);
  addTest(alert);
  addMute(alert);
  addDelete(alert);
}

function addCreate(alert: Command): void {
  const create = addPlace(alert.command('create').description('create a rule'))
    .option('--name <name>', 'name of the rule; default: that of the preset')
    .addOption(new Option('--preset <preset>', 'begin with a ready-made rule').choices(Object.keys(PRESETS)))
    .option('--metric <metric>', 'a metric of Query Metrics, silence, new_errors, or weekly')
    .option('--op <op>', 'gt, gte, lt or lte')
    .option('--value <number>', 'limit of the metric', toNumber)
    .option('--last-week', 'compare the change to the same window of last week: 0.5 is half more')
    .option('--window <time>', 'length of a window, such as 10m, 2h or 1d')
    .option('--for <n>', 'fire if this many windows break the rule', count)
    .option('--of <m>', 'of the last windows, one a minute; default: --for', count)
    .option('--severity <severity>', 'info, warning or critical');
  addRuleFilters(create)
    .option('--quiet <hours>', 'tell nothing in these hours, such as 22:00-06:00')
    .addOption(new Option('--day <day>', 'day of a weekly digest; default: monday').choices(DAYS))
    .option('--at <time>', 'time of a weekly digest; default: 09:00')
    .option('--timezone <zone>', 'IANA timezone of these hours, and of a digest; default: UTC')
    .option('--webhook <urls...>', "tell these URLs, in the form of Alertmanager's webhook")
    .option('--slack <urls...>', 'tell these incoming webhooks of Slack')
    .option('--teams <urls...>', 'tell these incoming webhooks of Microsoft Teams')
    .option('--email <addresses...>', 'tell these addresses')
    .addHelpText(
      'after',
      '\nInstead of a URL, @path names a file that has it.\n' +
        examples(
          'alert create --app 1 --preset errors --email ops@example.com',
          'alert create --team 1 --preset weekly --timezone Europe/Berlin --slack @slack.url',
          "alert create --app 1 --name slow --metric response_time_p95 --value 800 --path '/v1/*' --for 2 --of 3 --slack @slack.url",
        ),
    )
    .action(
      ({
        app,
        team,
        name,
        preset,
        lastWeek,
        minRequests,
        webhook,
        slack,
        teams,
        email,
        ...rule
      }: CreateOptions) =>
        runAudited('alert.create', { app_id: app, team_id: team }, async () => {
          const named = name ?? preset;
          if (named === undefined) throw new AdminError('Give the rule a --name');
          const definition = {
            ...(preset !== undefined && PRESETS[preset]),
            ...rule,
            ...(lastWeek && { compare: 'last_week' }),
            ...(minRequests !== undefined && { min_requests: minRequests }),
          };
          const receivers = dropMissing({ webhook, slack, teams, email });
          printResult(
            await withAlerts((alerts) => alerts.create({ app, team }, named, definition, receivers)),
          );
          return {};
        }),
    );
}

function addList(alert: Command): void {
  addPlace(alert.command('list').description('list rules, a line each'))
    .addHelpText('after', examples('alert list --app 1', 'alert list --team 1'))
    .action((place: RulePlace) =>
      runAudited('alert.list', toTarget(place), async () => {
        await printResults(await withAlerts((alerts) => alerts.list(place)));
        return {};
      }),
    );
}

function addShow(alert: Command): void {
  addNamed(alert.command('show').description('show a rule'))
    .addHelpText('after', examples('alert show --app 1 errors'))
    .action((name: string, place: RulePlace) =>
      runAudited('alert.show', toTarget(place), async () => {
        printResult(await withAlerts((alerts) => alerts.show(place, name)));
        return {};
      }),
    );
}

function addTest(alert: Command): void {
  addNamed(alert.command('test').description('send a test to each receiver of a rule, or its last digest'))
    .addHelpText('after', examples('alert test --app 1 errors'))
    .action((name: string, place: RulePlace) =>
      runAudited('alert.test', toTarget(place), async () => {
        const config = new Config();
        const results = await withAlerts((alerts, store) =>
          alerts.test(place, name, config.alerts, () => openServices(config, store)),
        );
        await printResults(results);
        const failed = results.filter(({ delivered }) => !delivered);
        if (failed.length > 0) throw new AdminError(`${failed.length} of ${results.length} were not reached`);
        return {};
      }),
    );
}

function addMute(alert: Command): void {
  addNamed(alert.command('mute').description('tell nothing of a rule for a time'))
    .requiredOption('--for <time>', 'such as 30m, 8h or 7d; 0m ends it', toMilliseconds)
    .addHelpText('after', examples('alert mute --app 1 errors --for 8h'))
    .action((name: string, { for: ms, ...place }: RulePlace & { for: number }) =>
      runAudited('alert.mute', toTarget(place), async () => {
        const until = ms === 0 ? 0 : Date.now() + ms;
        printResult(await withAlerts((alerts) => alerts.mute(place, name, until)));
        return {};
      }),
    );
}

function addDelete(alert: Command): void {
  addNamed(alert.command('delete').description('delete a rule; what it fired is resolved'))
    .addHelpText('after', examples('alert delete --app 1 errors'))
    .action((name: string, place: RulePlace) =>
      runAudited('alert.delete', toTarget(place), async () => {
        printResult(await withAlerts((alerts) => alerts.delete(place, name)));
        return {};
      }),
    );
}

/** Other commands do not load what checks and sends alerts. */
async function withAlerts<Result>(
  command: (alerts: AlertsAdmin, store: ClickHouse) => Promise<Result>,
): Promise<Result> {
  const { AlertsAdmin } = await import('../../ops/admin/alerts.admin.js');
  return withStore((store, { coordinator }) => {
    const { teams, apps } = createAdmin(store, coordinator);
    return command(new AlertsAdmin(store, teams, apps), store);
  });
}

/** What answers the operations of the API, loaded for a digest alone. */
async function openServices(config: Config, store: ClickHouse) {
  const { createMeasuringServices } = await import('../../alerts/measuring.module.js');
  const logger = new PinoLogger(createServerLogger(config.logLevel, 'stderr'));
  return createMeasuringServices({ config, store, telemetry: Telemetry.none }, logger);
}

function addPlace(command: Command): Command {
  return command.option('--app <id>', 'app ID', id).option('--team <id>', 'all apps of this team', id);
}

function addNamed(command: Command): Command {
  return addPlace(command).argument('<name>', 'name of the rule');
}

const toTarget = ({ app, team }: RulePlace) => ({ app_id: app, team_id: team });

function dropMissing(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function toNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('It must be a number.');
  return value;
}

function toMilliseconds(text: string): number {
  if (!/^\d{1,4}[mhd]$/.test(text))
    throw new InvalidArgumentError('It must be a time such as 30m, 8h or 7d.');
  return Number(text.slice(0, -1)) * UNITS[text.at(-1) as keyof typeof UNITS];
}
