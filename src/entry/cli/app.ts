import { type Command, Option } from 'commander';
import { createAdmin } from '../../ops/admin/admin.js';
import { CountsDeletion } from '../../ops/admin/counts-deletion.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { LocalCoordinator } from '../../coordination/writer-coordinator.js';
import { BatchLog } from '../../write/batch-log.js';
import { runAudited } from './audit.js';
import { confirm } from './confirm.js';
import { count, examples, id, time } from './options.js';
import { printMessage, printResult, printResults } from './output.js';
import { printPlace, withAdmin, withStore } from './with-store.js';

const NOT_PAUSED =
  'Without REDIS_URL the collector is not paused: what it writes meanwhile may be in some of the tables only. Stop it before.';

interface CountsOptions {
  app: number;
  since: number;
  until: number;
  logs: boolean;
  dryRun: boolean;
  yes: boolean;
}

interface LimitOptions {
  app: number;
  endpoints?: number;
  consumers?: number;
  consumerGroups?: number;
  environments?: number;
}

export function appCommand(program: Command): void {
  const app = program
    .command('app')
    .description('monitored apps')
    .addHelpText('after', examples('app create --team 1 --name Shop', 'app list --team 1'));
  addCreate(app);
  addList(app);
  addSetDisabled(app, 'disable', 'reject new data for an app in the collector; stored data stays readable');
  addSetDisabled(app, 'enable', 'accept data for an app in the collector again');
  addRotateClientId(app);
  addSetLimits(app);
  addSetOperations(app);
  addRename(app);
  addDelete(app);
  addDeleteCounts(app);
}

function addCreate(app: Command): void {
  app
    .command('create')
    .description('create an app of a team')
    .requiredOption('--team <id>', 'team ID', id)
    .requiredOption('--name <name>', 'app name')
    .option('--framework <framework>', 'framework the app uses', 'unknown')
    .addHelpText(
      'after',
      examples(
        "app create --team 1 --name 'Shop API'",
        'app create --team 1 --name Shop --framework express',
      ),
    )
    .action(({ team, name, framework }: { team: number; name: string; framework: string }) =>
      runAudited('app.create', { team_id: team }, async () => {
        const created = await withAdmin(async (admin) => {
          const app = await admin.apps.create(team, name, framework);
          await printPlace(admin, team);
          return app;
        });
        printResult(created);
        return { app_id: created.id };
      }),
    );
}

function addList(app: Command): void {
  app
    .command('list')
    .description("list a team's apps, a line each")
    .requiredOption('--team <id>', 'team ID', id)
    .addHelpText('after', examples('app list --team 1'))
    .action(({ team }: { team: number }) =>
      runAudited('app.list', { team_id: team }, async () => {
        await printResults(await withAdmin((admin) => admin.teams.listApps(team)));
      }),
    );
}

function addSetDisabled(app: Command, name: 'disable' | 'enable', description: string): void {
  app
    .command(name)
    .description(`${description} (within 10 seconds)`)
    .requiredOption('--app <id>', 'app ID', id)
    .addHelpText('after', examples(`app ${name} --app 1`))
    .action(({ app: appId }: { app: number }) =>
      runAudited(`app.${name}`, { app_id: appId }, async () => {
        printResult(await withAdmin((admin) => admin.apps.setDisabled(appId, name === 'disable')));
      }),
    );
}

function addRotateClientId(app: Command): void {
  app
    .command('rotate-client-id')
    .description('give an app a new client ID; data under the old one is rejected within 10 seconds')
    .requiredOption('--app <id>', 'app ID', id)
    .addHelpText('after', examples('app rotate-client-id --app 1'))
    .action(({ app: appId }: { app: number }) =>
      runAudited('app.rotate-client-id', { app_id: appId }, async () => {
        printResult(await withAdmin((admin) => admin.apps.rotateClientId(appId)));
      }),
    );
}

function addSetLimits(app: Command): void {
  app
    .command('set-limits')
    .description('set the limits of names of an app; 0 means the configured limit')
    .requiredOption('--app <id>', 'app ID', id)
    .option('--endpoints <n>', 'endpoints', count)
    .option('--consumers <n>', 'consumers', count)
    .option('--consumer-groups <n>', 'consumer groups', count)
    .option('--environments <n>', 'environments', count)
    .addHelpText('after', examples('app set-limits --app 1 --endpoints 20000 --consumers 0'))
    .action(({ app: appId, consumerGroups: consumer_groups, ...limits }: LimitOptions) =>
      runAudited('app.set-limits', { app_id: appId, consumer_groups, ...limits }, async () => {
        const changes = { ...limits, ...(consumer_groups !== undefined && { consumer_groups }) };
        printResult(await withAdmin((admin) => admin.apps.setNameLimits(appId, changes)));
      }),
    );
}

function addSetOperations(app: Command): void {
  app
    .command('set-operations')
    .description(
      'tell the GraphQL operations of an app apart, or not (within 10 seconds); clients choose their names',
    )
    .requiredOption('--app <id>', 'app ID', id)
    .addOption(
      new Option('--graphql <state>', 'GraphQL operations').choices(['on', 'off']).makeOptionMandatory(),
    )
    .addHelpText('after', examples('app set-operations --app 1 --graphql on'))
    .action(({ app: appId, graphql }: { app: number; graphql: 'on' | 'off' }) =>
      runAudited('app.set-operations', { app_id: appId, graphql }, async () => {
        printResult(await withAdmin((admin) => admin.apps.setGraphql(appId, graphql === 'on')));
      }),
    );
}

function addRename(app: Command): void {
  app
    .command('rename')
    .description('rename an app')
    .requiredOption('--app <id>', 'app ID', id)
    .requiredOption('--name <name>', 'new name')
    .addHelpText('after', examples("app rename --app 1 --name 'Shop API'"))
    .action(({ app: appId, name }: { app: number; name: string }) =>
      runAudited('app.rename', { app_id: appId }, async () => {
        printResult(await withAdmin((admin) => admin.apps.rename(appId, name)));
      }),
    );
}

function addDelete(app: Command): void {
  app
    .command('delete')
    .description('delete an app and all its data; stop imports into it before')
    .requiredOption('--app <id>', 'app ID', id)
    .option('--yes', 'do not ask', false)
    .addHelpText('after', examples('app delete --app 3', 'app delete --app 3 --yes'))
    .action(({ app: appId, yes }: { app: number; yes: boolean }) =>
      runAudited('app.delete', { app_id: appId }, async () => {
        await confirm(async () => {
          const { name, team_id } = await withAdmin((admin) => admin.apps.require(appId));
          return `Delete app ${appId} (${name}) of team ${team_id} and all its data?`;
        }, yes);
        const deleted = await withStore(async (store, { coordinator, isShared }) => {
          const { apps } = createAdmin(store, coordinator);
          await apps.require(appId);
          if (isShared) printMessage('Waiting 15 seconds until no collector writes data of the app.');
          return apps.delete(appId, new BatchLog(store, coordinator), isShared);
        });
        printResult(deleted);
      }),
    );
}

function addDeleteCounts(app: Command): void {
  app
    .command('delete-counts')
    .description('delete the counts of an app in a window of time, because they are wrong')
    .requiredOption('--app <id>', 'app ID', id)
    .requiredOption('--since <time>', 'start of the window, a whole hour in UTC', time)
    .requiredOption('--until <time>', 'its end, exclusive, a whole hour in UTC', time)
    .option('--logs', 'also delete request logs, spans and log records of the window', false)
    .option('--dry-run', 'only say what would be deleted', false)
    .option('--yes', 'do not ask', false)
    .addHelpText(
      'after',
      examples(
        'app delete-counts --app 1 --since 2026-11-20T10:00Z --until 2026-11-20T12:00Z --dry-run',
        'app delete-counts --app 1 --since 2026-11-20 --until 2026-11-21 --yes',
      ),
    )
    .action(({ app: appId, since, until, logs: withLogs, dryRun: isDryRun, yes }: CountsOptions) => {
      const [from, to] = [since, until].map((at) => new Date(at).toISOString());
      const target = { app_id: appId, since: from, until: to, logs: withLogs, dry_run: isDryRun };
      return runAudited('app.delete-counts', target, async () => {
        const prepare = async (store: ClickHouse) => {
          await createAdmin(store).apps.require(appId);
          return new CountsDeletion(store, { appId, since, until, withLogs });
        };
        const describe = () => withStore(async (store) => (await prepare(store)).describe());
        if (isDryRun) {
          printResult(await describe());
          return;
        }
        await confirm(async () => {
          const { requests } = await describe();
          return `Delete the counts of ${requests} requests of app ${appId} from ${from} to ${to}?`;
        }, yes);
        const deleted = await withStore(async (store, { coordinator, isShared }) => {
          const deletion = await prepare(store);
          if (isShared && coordinator instanceof LocalCoordinator) printMessage(NOT_PAUSED);
          return deletion.run(coordinator);
        });
        printResult(deleted);
        return { requests: deleted.requests };
      });
    });
}
