import { type Command, Option } from 'commander';
import { AdminService } from '../admin/admin.service.js';
import type { Plan } from '../auth/account.js';
import { print } from './output.js';
import { withStore } from './with-store.js';

export function teamCommand(program: Command): void {
  const team = program.command('team').description('teams');
  team
    .command('create')
    .description('create a team; only those on the premium plan may use the API')
    .requiredOption('--name <name>', 'team name')
    .addOption(new Option('--plan <plan>', 'plan').choices(['free', 'premium']).default('premium'))
    .action(async ({ name, plan }: { name: string; plan: Plan }) => {
      print(await withStore((store) => new AdminService(store).createTeam(name, plan)));
    });
  team
    .command('list')
    .description('list all teams, a line each')
    .action(async () => {
      for (const row of await withStore((store) => new AdminService(store).listTeams())) print(row);
    });
}
