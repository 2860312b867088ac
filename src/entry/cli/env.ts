import type { Command } from 'commander';
import { runAudited } from './audit.js';
import { examples, id } from './options.js';
import { printResults } from './output.js';
import { withAdmin } from './with-store.js';

export function envCommand(program: Command): void {
  program
    .command('env')
    .description('environments of apps')
    .addHelpText('after', examples('env list --app 1'))
    .command('list')
    .description("list an app's environments, with the time of their last data")
    .requiredOption('--app <id>', 'app ID', id)
    .addHelpText('after', examples('env list --app 1'))
    .action(({ app }: { app: number }) =>
      runAudited('env.list', { app_id: app }, async () => {
        await printResults(await withAdmin((admin) => admin.apps.listEnvironments(app)));
      }),
    );
}
