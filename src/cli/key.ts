import type { Command } from 'commander';
import { AdminError, AdminService } from '../admin/admin.service.js';
import { keyIdentifier, runAudited } from './audit.js';
import { confirm } from './confirm.js';
import { examples, futureTime, id } from './options.js';
import { printResult, printResults } from './output.js';
import { withStore } from './with-store.js';

export function keyCommand(program: Command): void {
  const key = program
    .command('key')
    .description('API keys')
    .addHelpText('after', examples('key create --team 1 --name reporting', 'key list --team 1'));
  key
    .command('create')
    .description('create a key; this is the only time it is shown')
    .requiredOption('--team <id>', 'team ID', id)
    .option('--name <name>', 'what the key is for', '')
    .option(
      '--expires <iso>',
      'expiry of the key, in the future (ISO 8601; UTC without an offset)',
      futureTime,
    )
    .addHelpText(
      'after',
      examples('key create --team 1 --name reporting', 'key create --team 1 --expires 2030-01-01'),
    )
    .action(({ team, name, expires }: { team: number; name: string; expires?: number }) => {
      const options = { name, ...(expires === undefined ? {} : { expiresAt: expires }) };
      const ends = expires === undefined ? null : new Date(expires).toISOString();
      return runAudited('key.create', { team_id: team, expires: ends }, async () => {
        const created = await withStore((store) => new AdminService(store).createKey(team, options));
        printResult(created);
        return { key: created.identifier };
      });
    });
  key
    .command('list')
    .description("list a team's keys, a line each")
    .requiredOption('--team <id>', 'team ID', id)
    .addHelpText('after', examples('key list --team 1'))
    .action(({ team }: { team: number }) =>
      runAudited('key.list', { team_id: team }, async () => {
        await printResults(await withStore((store) => new AdminService(store).listKeys(team)));
        return {};
      }),
    );
  key
    .command('revoke')
    .description('revoke a key; servers reject it within 10 seconds')
    .argument('<identifier>', "the key's part before the dot")
    .addHelpText('after', examples('key revoke abcDEF1'))
    .action((identifier: string) =>
      runAudited('key.revoke', { key: keyIdentifier(identifier) }, async () => {
        requireIdentifier(identifier);
        printResult(await withStore((store) => new AdminService(store).revokeKey(identifier)));
        return {};
      }),
    );
  key
    .command('rename')
    .description('rename a key')
    .argument('<identifier>', "the key's part before the dot")
    .requiredOption('--name <name>', 'what the key is for')
    .addHelpText('after', examples('key rename abcDEF1 --name reporting'))
    .action((identifier: string, { name }: { name: string }) =>
      runAudited('key.rename', { key: keyIdentifier(identifier) }, async () => {
        requireIdentifier(identifier);
        printResult(await withStore((store) => new AdminService(store).renameKey(identifier, name)));
        return {};
      }),
    );
  key
    .command('delete')
    .description('delete a key, also from the list; servers reject it within 10 seconds')
    .argument('<identifier>', "the key's part before the dot")
    .option('--yes', 'do not ask', false)
    .addHelpText('after', examples('key delete abcDEF1', 'key delete abcDEF1 --yes'))
    .action((identifier: string, { yes }: { yes: boolean }) =>
      runAudited('key.delete', { key: keyIdentifier(identifier) }, async () => {
        requireIdentifier(identifier);
        await confirm(`Delete key ${identifier}?`, yes);
        printResult(await withStore((store) => new AdminService(store).deleteKey(identifier)));
        return {};
      }),
    );
}

/** @throws AdminError that does not repeat the argument, which could be a whole key */
function requireIdentifier(argument: string): void {
  if (keyIdentifier(argument) !== argument)
    throw new AdminError('The identifier of a key is the 7 letters or digits before the dot');
}
