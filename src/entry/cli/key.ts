import type { Command } from 'commander';
import { AdminError } from '../../ops/admin/admin.error.js';
import { getAddresses } from '../bootstrap/first-steps.js';
import { Config } from '../../config/config.js';
import { keyIdentifier, runAudited } from './audit.js';
import { confirm } from './confirm.js';
import {
  type ScopeOptions,
  addScopeOptions,
  describeScopes,
  hasScopes,
  readScopes,
  warnOfUnknownConsumer,
} from './key-scopes.js';
import { examples, futureTime, id } from './options.js';
import { printForPeople, printResult, printResults } from './output.js';
import { printPlace, withAdmin } from './with-store.js';

interface CreateOptions extends ScopeOptions {
  team: number;
  name: string;
  /** Milliseconds since the epoch. */
  expires?: number;
}

export function keyCommand(program: Command): void {
  const key = program
    .command('key')
    .description('API keys')
    .addHelpText('after', examples('key create --team 1 --name reporting', 'key list --team 1'));
  addCreate(key);
  addSetScopes(key);
  addList(key);
  addRevoke(key);
  addRename(key);
  addDelete(key);
}

function addCreate(key: Command): void {
  const create = key
    .command('create')
    .description('create a key; this is the only time it is shown')
    .requiredOption('--team <id>', 'team ID', id)
    .option('--name <name>', 'what the key is for', '')
    .option(
      '--expires <iso>',
      'expiry of the key: 30d, or a time in the future (ISO 8601; UTC without an offset)',
      futureTime,
    )
    .addHelpText(
      'after',
      examples(
        'key create --team 1 --name reporting',
        'key create --team 1 --name ann --apps 1 --expires 30d',
        'key create --team 1 --expires 2030-01-01',
        'key create --team 1 --apps 1,2 --operations getTraffic,queryMetrics',
        'key create --team 1 --apps 1 --consumer acme --no-bodies --requests-per-minute 20',
      ),
    );
  addScopeOptions(create).action(({ team, name, expires, ...options }: CreateOptions) => {
    const ends = expires === undefined ? null : new Date(expires).toISOString();
    const target = { team_id: team, expires: ends, ...describeScopes(options) };
    return runAudited('key.create', target, async () => {
      const scopes = readScopes(options);
      const created = await withAdmin(async (admin) => {
        await warnOfUnknownConsumer(admin, scopes);
        const made = await admin.keys.create(team, {
          name,
          scopes,
          ...(expires !== undefined && { expiresAt: expires }),
        });
        await printPlace(admin, team);
        return made;
      });
      printResult(created);
      printForPeople(describeLink(created.key, ends, hasScopes(scopes)));
      return { key: created.identifier };
    });
  });
}

/** How the key opens the dashboard. In the fragment, because browsers do not send it. */
function describeLink(key: string, expires: string | null, isLimited: boolean): string {
  const config = new Config();
  const lines = ['The key is shown this once.'];
  if (!config.dashboard) return lines.join('');
  const { api } = getAddresses(config);
  const until = expires === null ? '' : `, until ${expires}`;
  lines.push(
    `This link opens the dashboard with it. Whoever has the link can read, and change nothing${until}:`,
    `${api}/#key=${key}`,
  );
  if (new URL(api).hostname === 'localhost')
    lines.push('For a colleague, write the name of this machine in the place of localhost.');
  if (!isLimited && expires === null)
    lines.push('A key for somebody else can be limited: --apps 1 --expires 30d');
  return lines.join('\n');
}

function addSetScopes(key: Command): void {
  const setScopes = key
    .command('set-scopes')
    .description('replace the scopes of a key; servers apply the new ones within 10 seconds')
    .argument('<identifier>', "the key's part before the dot")
    .option('--all', 'remove all scopes: the key reads everything of its team', false)
    .addHelpText(
      'after',
      examples('key set-scopes abcDEF1 --apps 1 --no-bodies', 'key set-scopes abcDEF1 --all'),
    );
  addScopeOptions(setScopes).action(
    (identifier: string, { all, ...options }: ScopeOptions & { all: boolean }) => {
      const target = { key: keyIdentifier(identifier), all, ...describeScopes(options) };
      return runAudited('key.set-scopes', target, async () => {
        requireIdentifier(identifier);
        const scopes = readScopes(options);
        if (all === hasScopes(scopes))
          throw new AdminError('Name the new scopes, or --all without others to remove them');
        printResult(
          await withAdmin(async (admin) => {
            await warnOfUnknownConsumer(admin, scopes);
            return admin.keys.setScopes(identifier, scopes);
          }),
        );
      });
    },
  );
}

function addList(key: Command): void {
  key
    .command('list')
    .description("list a team's keys, a line each")
    .requiredOption('--team <id>', 'team ID', id)
    .addHelpText('after', examples('key list --team 1'))
    .action(({ team }: { team: number }) =>
      runAudited('key.list', { team_id: team }, async () => {
        await printResults(await withAdmin((admin) => admin.keys.list(team)));
      }),
    );
}

function addRevoke(key: Command): void {
  key
    .command('revoke')
    .description('revoke a key; servers reject it within 10 seconds')
    .argument('<identifier>', "the key's part before the dot")
    .addHelpText('after', examples('key revoke abcDEF1'))
    .action((identifier: string) =>
      runAudited('key.revoke', { key: keyIdentifier(identifier) }, async () => {
        requireIdentifier(identifier);
        printResult(await withAdmin((admin) => admin.keys.revoke(identifier)));
      }),
    );
}

function addRename(key: Command): void {
  key
    .command('rename')
    .description('rename a key')
    .argument('<identifier>', "the key's part before the dot")
    .requiredOption('--name <name>', 'what the key is for')
    .addHelpText('after', examples('key rename abcDEF1 --name reporting'))
    .action((identifier: string, { name }: { name: string }) =>
      runAudited('key.rename', { key: keyIdentifier(identifier) }, async () => {
        requireIdentifier(identifier);
        printResult(await withAdmin((admin) => admin.keys.rename(identifier, name)));
      }),
    );
}

function addDelete(key: Command): void {
  key
    .command('delete')
    .description('delete a key, also from the list; servers reject it within 10 seconds')
    .argument('<identifier>', "the key's part before the dot")
    .option('--yes', 'do not ask', false)
    .addHelpText('after', examples('key delete abcDEF1', 'key delete abcDEF1 --yes'))
    .action((identifier: string, { yes }: { yes: boolean }) =>
      runAudited('key.delete', { key: keyIdentifier(identifier) }, async () => {
        requireIdentifier(identifier);
        await confirm(() => Promise.resolve(`Delete key ${identifier}?`), yes);
        printResult(await withAdmin((admin) => admin.keys.delete(identifier)));
      }),
    );
}

/** @throws AdminError that does not repeat the argument, which could be a whole key */
function requireIdentifier(argument: string): void {
  if (keyIdentifier(argument) !== argument)
    throw new AdminError('The identifier of a key is the 7 letters or digits before the dot');
}
