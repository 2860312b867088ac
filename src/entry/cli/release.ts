import type { Command } from 'commander';
import { runAudited } from './audit.js';
import { examples, id, time } from './options.js';
import { printResults } from './output.js';
import { withAdmin } from './with-store.js';

interface ReleaseOptions {
  app: number;
  version: string;
  env?: string;
}

export function releaseCommand(program: Command): void {
  const release = program
    .command('release')
    .description('mark when versions of an app began, if it does not send them')
    .addHelpText('after', examples('release mark --app 1 --version 2.14.1', 'release list --app 1'));
  addMark(release);
  addUnmark(release);
  addList(release);
}

function addMark(release: Command): void {
  addReleaseOptions(release.command('mark').description('mark that a version begins; again moves the mark'))
    .option('--at <time>', 'when it began, ISO 8601 or 90m, 24h ago; now when not given', time)
    .addHelpText(
      'after',
      examples(
        'release mark --app 1 --version 2.14.1',
        'release mark --app 1 --version 2.14.1 --env prod --at 2026-11-20T14:00:00Z',
      ),
    )
    .action(({ app, version, env, at }: ReleaseOptions & { at?: number }) =>
      runAudited('release.mark', { app_id: app }, async () => {
        const marks = await withAdmin((admin) => admin.releases.mark(app, version, { env, at }));
        await printResults(marks);
        return { marks: marks.length };
      }),
    );
}

function addUnmark(release: Command): void {
  addReleaseOptions(release.command('unmark').description('take a mark back'))
    .addHelpText('after', examples('release unmark --app 1 --version 2.14.1'))
    .action(({ app, version, env }: ReleaseOptions) =>
      runAudited('release.unmark', { app_id: app }, async () => {
        const marks = await withAdmin((admin) => admin.releases.unmark(app, version, { env }));
        await printResults(marks);
        return { marks: marks.length };
      }),
    );
}

function addList(release: Command): void {
  release
    .command('list')
    .description(
      "list an app's marks, a line each; List Releases also has the versions that processes report",
    )
    .requiredOption('--app <id>', 'app ID', id)
    .addHelpText('after', examples('release list --app 1'))
    .action(({ app }: { app: number }) =>
      runAudited('release.list', { app_id: app }, async () => {
        await printResults(await withAdmin((admin) => admin.releases.list(app)));
      }),
    );
}

function addReleaseOptions(command: Command): Command {
  return command
    .requiredOption('--app <id>', 'app ID', id)
    .requiredOption('--version <version>', 'version of the application')
    .option('--env <name>', 'environment; all that the app has when not given');
}
