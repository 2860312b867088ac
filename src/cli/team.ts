import { type Command, Option } from 'commander';
import { AdminService } from '../admin/admin.service.js';
import type { Plan } from '../common/account.js';
import { runAudited } from './audit.js';
import { id } from './options.js';
import { printResult } from './output.js';
import { withStore } from './with-store.js';

export function teamCommand(program: Command): void {
  const team = program.command('team').description('teams');
  team
    .command('create')
    .description('create a team; only teams on the premium plan may use the API')
    .requiredOption('--name <name>', 'team name')
    .addOption(new Option('--plan <plan>', 'plan').choices(['free', 'premium']).default('premium'))
    .action(({ name, plan }: { name: string; plan: Plan }) =>
      runAudited('team.create', { plan }, async () => {
        const created = await withStore((store) => new AdminService(store).createTeam(name, plan));
        printResult(created);
        return { team_id: created.id };
      }),
    );
  team
    .command('list')
    .description('list all teams, one per line')
    .action(() =>
      runAudited('team.list', {}, async () => {
        for (const row of await withStore((store) => new AdminService(store).listTeams())) printResult(row);
        return {};
      }),
    );
  team
    .command('set-plan')
    .description('change the plan of a team; takes effect within 10 seconds')
    .requiredOption('--team <id>', 'team ID', id)
    .addOption(new Option('--plan <plan>', 'plan').choices(['free', 'premium']).makeOptionMandatory())
    .action(({ team: teamId, plan }: { team: number; plan: Plan }) =>
      runAudited('team.set-plan', { team_id: teamId, plan }, async () => {
        printResult(await withStore((store) => new AdminService(store).setPlan(teamId, plan)));
        return {};
      }),
    );
}
