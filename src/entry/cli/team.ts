import { type Command, Option } from 'commander';
import type { Plan } from '../../platform/http/account.js';
import { runAudited } from './audit.js';
import { confirm } from './confirm.js';
import { examples, id } from './options.js';
import { printResult, printResults } from './output.js';
import { printPlace, withAdmin } from './with-store.js';

export function teamCommand(program: Command): void {
  const team = program
    .command('team')
    .description('teams')
    .addHelpText('after', examples('team create --name Acme', 'team list'));
  addCreate(team);
  addList(team);
  addSetPlan(team);
  addRename(team);
  addDelete(team);
}

function addCreate(team: Command): void {
  team
    .command('create')
    .description('create a team')
    .requiredOption('--name <name>', 'team name')
    .addOption(
      new Option('--plan <plan>', 'free refuses the API to its keys; for compatibility')
        .choices(['free', 'premium'])
        .default('premium'),
    )
    .addHelpText('after', examples('team create --name Acme', 'team create --name Trial --plan free'))
    .action(({ name, plan }: { name: string; plan: Plan }) =>
      runAudited('team.create', { plan }, async () => {
        const created = await withAdmin(async (admin) => {
          const team = await admin.teams.create(name, plan);
          await printPlace(admin, team.id);
          return team;
        });
        printResult(created);
        return { team_id: created.id };
      }),
    );
}

function addList(team: Command): void {
  team
    .command('list')
    .description('list all teams, one per line')
    .addHelpText('after', examples('team list', 'team list --json | jq .name'))
    .action(() =>
      runAudited('team.list', {}, async () => {
        await printResults(await withAdmin((admin) => admin.teams.list()));
      }),
    );
}

function addSetPlan(team: Command): void {
  team
    .command('set-plan')
    .alias('plan')
    .description('change the plan of a team; takes effect within 10 seconds')
    .requiredOption('--team <id>', 'team ID', id)
    .addOption(new Option('--plan <plan>', 'plan').choices(['free', 'premium']).makeOptionMandatory())
    .addHelpText('after', examples('team set-plan --team 1 --plan free'))
    .action(({ team: teamId, plan }: { team: number; plan: Plan }) =>
      runAudited('team.set-plan', { team_id: teamId, plan }, async () => {
        printResult(await withAdmin((admin) => admin.teams.setPlan(teamId, plan)));
      }),
    );
}

function addRename(team: Command): void {
  team
    .command('rename')
    .description('rename a team')
    .requiredOption('--team <id>', 'team ID', id)
    .requiredOption('--name <name>', 'new name')
    .addHelpText('after', examples('team rename --team 1 --name Acme'))
    .action(({ team: teamId, name }: { team: number; name: string }) =>
      runAudited('team.rename', { team_id: teamId }, async () => {
        printResult(await withAdmin((admin) => admin.teams.rename(teamId, name)));
      }),
    );
}

function addDelete(team: Command): void {
  team
    .command('delete')
    .description('delete a team without apps, and its keys')
    .requiredOption('--team <id>', 'team ID', id)
    .option('--yes', 'do not ask', false)
    .addHelpText('after', examples('team delete --team 3', 'team delete --team 3 --yes'))
    .action(({ team: teamId, yes }: { team: number; yes: boolean }) =>
      runAudited('team.delete', { team_id: teamId }, async () => {
        await confirm(async () => {
          const { name } = await withAdmin((admin) => admin.teams.require(teamId));
          return `Delete team ${teamId} (${name}) and its keys?`;
        }, yes);
        printResult(await withAdmin((admin) => admin.teams.delete(teamId)));
      }),
    );
}
