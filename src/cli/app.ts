import type { Command } from 'commander';
import { AdminService } from '../admin/admin.service.js';
import { id } from './options.js';
import { print } from './output.js';
import { withStore } from './with-store.js';

export function appCommand(program: Command): void {
  const app = program.command('app').description('monitored apps');
  app
    .command('create')
    .description('create an app of a team')
    .requiredOption('--team <id>', 'team ID', id)
    .requiredOption('--name <name>', 'app name')
    .option('--framework <framework>', 'framework the app uses', 'unknown')
    .action(async ({ team, name, framework }: { team: number; name: string; framework: string }) => {
      print(await withStore((store) => new AdminService(store).createApp(team, name, framework)));
    });
  app
    .command('list')
    .description("list a team's apps, a line each")
    .requiredOption('--team <id>', 'team ID', id)
    .action(async ({ team }: { team: number }) => {
      for (const row of await withStore((store) => new AdminService(store).listApps(team))) print(row);
    });
}
