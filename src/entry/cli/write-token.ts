import type { Command } from 'commander';
import { AdminError } from '../../ops/admin/admin.error.js';
import { describeTokenIdentifier } from '../../access/tokens/write-token.js';
import { runAudited } from './audit.js';
import { examples, id } from './options.js';
import { printResult, printResults } from './output.js';
import { printPlace, withAdmin } from './with-store.js';

export function writeTokenCommand(program: Command): void {
  const token = program
    .command('write-token')
    .description('tokens of OpenTelemetry SDKs')
    .addHelpText('after', examples('write-token create --app 1 --name web', 'write-token list --app 1'));
  addCreate(token);
  addList(token);
  addRevoke(token);
}

function addCreate(token: Command): void {
  token
    .command('create')
    .description('create a write token, which is shown only once')
    .requiredOption('--app <id>', 'app ID', id)
    .option('--name <name>', 'what the token is for', '')
    .addHelpText('after', examples('write-token create --app 1 --name web'))
    .action(({ app, name }: { app: number; name: string }) =>
      runAudited('write-token.create', { app_id: app }, async () => {
        const created = await withAdmin(async (admin) => {
          const token = await admin.writeTokens.create(app, { name });
          await printPlace(admin, (await admin.apps.require(app)).team_id, app);
          return token;
        });
        printResult(created);
        return { token: created.identifier };
      }),
    );
}

function addList(token: Command): void {
  token
    .command('list')
    .description("list an app's write tokens, a line each")
    .requiredOption('--app <id>', 'app ID', id)
    .addHelpText('after', examples('write-token list --app 1'))
    .action(({ app }: { app: number }) =>
      runAudited('write-token.list', { app_id: app }, async () => {
        await printResults(await withAdmin((admin) => admin.writeTokens.list(app)));
      }),
    );
}

function addRevoke(token: Command): void {
  token
    .command('revoke')
    .description('revoke a write token; collectors reject it within 10 seconds')
    .requiredOption('--app <id>', 'app ID', id)
    .argument('<identifier>', "the token's first 8 characters after apt_")
    .addHelpText('after', examples('write-token revoke --app 1 abcDEF12'))
    .action((identifier: string, { app }: { app: number }) =>
      runAudited(
        'write-token.revoke',
        { app_id: app, token: describeTokenIdentifier(identifier) },
        async () => {
          // The message does not repeat the argument, because it may be a whole token.
          if (describeTokenIdentifier(identifier) !== identifier)
            throw new AdminError("An identifier is a token's first 8 letters or digits after apt_");
          printResult(await withAdmin((admin) => admin.writeTokens.revoke(app, identifier)));
        },
      ),
    );
}
