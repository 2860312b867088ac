import type { Command } from 'commander';
import { AdminService } from '../admin/admin.service.js';
import { audited } from './audit.js';
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
    .action(({ team, name, framework }: { team: number; name: string; framework: string }) =>
      audited('app.create', { team_id: team }, async () => {
        const created = await withStore((store) => new AdminService(store).createApp(team, name, framework));
        print(created);
        return { app_id: created.id };
      }),
    );
  app
    .command('list')
    .description("list a team's apps, a line each")
    .requiredOption('--team <id>', 'team ID', id)
    .action(({ team }: { team: number }) =>
      audited('app.list', { team_id: team }, async () => {
        for (const row of await withStore((store) => new AdminService(store).listApps(team))) print(row);
        return {};
      }),
    );
}
