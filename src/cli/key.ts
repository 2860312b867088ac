import { isDeepStrictEqual } from 'node:util';
import { type Command, InvalidArgumentError } from 'commander';
import { AdminError, type AdminService } from '../admin/admin.service.js';
import { ALL_SCOPES, type KeyScopes, OPERATIONS, type OperationId } from '../common/account.js';
import { type AuditTarget, keyIdentifier, runAudited } from './audit.js';
import { confirm } from './confirm.js';
import { consumerIdentifier, examples, futureTime, id, ids } from './options.js';
import { printMessage, printResult, printResults } from './output.js';
import { withAdmin } from './with-store.js';

export function keyCommand(program: Command): void {
  const key = program
    .command('key')
    .description('API keys')
    .addHelpText('after', examples('key create --team 1 --name reporting', 'key list --team 1'));
  const create = key
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
      examples(
        'key create --team 1 --name reporting',
        'key create --team 1 --expires 2030-01-01',
        'key create --team 1 --apps 1,2 --operations getTraffic,queryMetrics',
        'key create --team 1 --apps 1 --consumer acme --no-bodies --requests-per-minute 20',
      ),
    );
  addScopeOptions(create).action(
    ({
      team,
      name,
      expires,
      ...options
    }: ScopeOptions & { team: number; name: string; expires?: number }) => {
      const ends = expires === undefined ? null : new Date(expires).toISOString();
      const target = { team_id: team, expires: ends, ...describeScopes(options) };
      return runAudited('key.create', target, async () => {
        const scopes = readScopes(options);
        const created = await withAdmin(async (admin) => {
          await warnOfUnknownConsumer(admin, scopes);
          return admin.createKey(team, {
            name,
            scopes,
            ...(expires !== undefined && { expiresAt: expires }),
          });
        });
        printResult(created);
        return { key: created.identifier };
      });
    },
  );
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
            return admin.setKeyScopes(identifier, scopes);
          }),
        );
      });
    },
  );
  key
    .command('list')
    .description("list a team's keys, a line each")
    .requiredOption('--team <id>', 'team ID', id)
    .addHelpText('after', examples('key list --team 1'))
    .action(({ team }: { team: number }) =>
      runAudited('key.list', { team_id: team }, async () => {
        await printResults(await withAdmin((admin) => admin.listKeys(team)));
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
        printResult(await withAdmin((admin) => admin.revokeKey(identifier)));
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
        printResult(await withAdmin((admin) => admin.renameKey(identifier, name)));
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
        await confirm(() => Promise.resolve(`Delete key ${identifier}?`), yes);
        printResult(await withAdmin((admin) => admin.deleteKey(identifier)));
      }),
    );
}

interface ScopeOptions {
  apps?: number[];
  operations?: OperationId[];
  bodies: boolean;
  consumer?: string;
  requestsPerMinute?: number;
}

function addScopeOptions(command: Command): Command {
  return command
    .option('--apps <ids>', 'only these apps, separated by commas', ids)
    .option(
      '--operations <ids>',
      `only these operations, separated by commas: ${OPERATIONS.join(', ')}`,
      operations,
    )
    .option('--no-bodies', 'without headers and bodies of requests')
    .option('--consumer <identifier>', 'only the data of this consumer; needs --apps', consumerIdentifier)
    .option('--requests-per-minute <n>', 'its rate limit; RATE_LIMIT_PER_MINUTE when not given', id);
}

function operations(value: string): OperationId[] {
  const names = [...new Set(value.split(',').map((item) => item.trim()))];
  const unknown = names.filter((name) => !isOperation(name));
  if (unknown.length > 0)
    throw new InvalidArgumentError(
      `There is no operation ${unknown.join(', ')}. There are ${OPERATIONS.join(', ')}.`,
    );
  return names.filter(isOperation);
}

function isOperation(name: string): name is OperationId {
  return (OPERATIONS as readonly string[]).includes(name);
}

/** @throws AdminError for a consumer without apps: another app may know another consumer by the same identifier */
function readScopes({ apps, operations, bodies, consumer, requestsPerMinute }: ScopeOptions): KeyScopes {
  if (consumer !== undefined && apps === undefined)
    throw new AdminError('--consumer needs --apps: the apps in which the identifier is that consumer');
  return {
    appIds: apps ?? [],
    operations: operations ?? [],
    hasBodies: bodies,
    consumer: consumer ?? null,
    requestsPerMinute: requestsPerMinute ?? null,
  };
}

function hasScopes(scopes: KeyScopes): boolean {
  return !isDeepStrictEqual(scopes, ALL_SCOPES);
}

/** The scopes for an audit line, which does not name the consumer. */
function describeScopes({
  apps,
  operations,
  bodies,
  consumer,
  requestsPerMinute,
}: ScopeOptions): AuditTarget {
  return {
    apps: apps?.join(),
    operations: operations?.join(),
    bodies,
    one_consumer: consumer !== undefined,
    requests_per_minute: requestsPerMinute,
  };
}

/** A new customer has made no request yet, so this is no error; it may be a mistake all the same. */
async function warnOfUnknownConsumer(admin: AdminService, { appIds, consumer }: KeyScopes): Promise<void> {
  if (consumer === null) return;
  const unknown = await admin.listAppsWithoutConsumer(appIds, consumer);
  if (unknown.length > 0)
    printMessage(`No request of this consumer is known yet in app ${unknown.join(', ')}.`);
}

/** @throws AdminError that does not repeat the argument, which could be a whole key */
function requireIdentifier(argument: string): void {
  if (keyIdentifier(argument) !== argument)
    throw new AdminError('The identifier of a key is the 7 letters or digits before the dot');
}
