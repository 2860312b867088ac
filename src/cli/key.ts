import type { Command } from 'commander';
import { AdminError, AdminService } from '../admin/admin.service.js';
import { keyIdentifier, runAudited } from './audit.js';
import { id, time } from './options.js';
import { printResult } from './output.js';
import { withStore } from './with-store.js';

export function keyCommand(program: Command): void {
  const key = program.command('key').description('API keys');
  key
    .command('create')
    .description('create a key; this is the only time it is shown')
    .requiredOption('--team <id>', 'team ID', id)
    .option('--name <name>', 'what the key is for', '')
    .option('--expires <iso>', 'expiry of the key (ISO 8601; UTC without an offset)', time)
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
    .action(({ team }: { team: number }) =>
      runAudited('key.list', { team_id: team }, async () => {
        for (const row of await withStore((store) => new AdminService(store).listKeys(team)))
          printResult(row);
        return {};
      }),
    );
  key
    .command('revoke')
    .description('revoke a key; servers reject it within 10 seconds')
    .argument('<identifier>', "the key's part before the dot")
    .action((identifier: string) =>
      runAudited('key.revoke', { key: keyIdentifier(identifier) }, async () => {
        // Not repeated: it could be a whole key.
        if (keyIdentifier(identifier) !== identifier)
          throw new AdminError('The identifier of a key is the 7 letters or digits before the dot');
        printResult(await withStore((store) => new AdminService(store).revokeKey(identifier)));
        return {};
      }),
    );
}
