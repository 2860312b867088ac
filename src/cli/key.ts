import type { Command } from 'commander';
import { AdminService } from '../admin/admin.service.js';
import { id, time } from './options.js';
import { print } from './output.js';
import { withStore } from './with-store.js';

export function keyCommand(program: Command): void {
  const key = program.command('key').description('API keys');
  key
    .command('create')
    .description('create a key; this is the only time it is shown')
    .requiredOption('--team <id>', 'team ID', id)
    .option('--name <name>', 'what the key is for', '')
    .option('--expires <iso>', 'when the key ends (ISO 8601; UTC without an offset)', time)
    .action(async ({ team, name, expires }: { team: number; name: string; expires?: number }) => {
      const options = { name, ...(expires === undefined ? {} : { expiresAt: expires }) };
      print(await withStore((store) => new AdminService(store).createKey(team, options)));
    });
  key
    .command('list')
    .description("list a team's keys, a line each")
    .requiredOption('--team <id>', 'team ID', id)
    .action(async ({ team }: { team: number }) => {
      for (const row of await withStore((store) => new AdminService(store).listKeys(team))) print(row);
    });
  key
    .command('revoke')
    .description('revoke a key; servers stop taking it within 10 seconds')
    .argument('<identifier>', "the key's part before the dot")
    .action(async (identifier: string) => {
      print(await withStore((store) => new AdminService(store).revokeKey(identifier)));
    });
}
