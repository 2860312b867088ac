import type { Command } from 'commander';
import { createFirstApp, describeFirstSteps, writeEnvFile } from '../bootstrap/first-steps.js';
import { Config } from '../../config/config.js';
import { runAudited } from './audit.js';
import { examples } from './options.js';
import { printMessage, printResult } from './output.js';
import { withAdmin } from './with-store.js';

export function initCommand(program: Command): void {
  program
    .command('init')
    .description('create a team, an app, an API key and a write token, and print what to paste')
    .option('--team <name>', 'team name', 'My team')
    .option('--app <name>', 'app name', 'My API')
    .addHelpText('after', examples('init', "init --team Acme --app 'Shop API'"))
    .action((names: { team: string; app: string }) =>
      runAudited('init', {}, async () => {
        const config = new Config();
        const first = await withAdmin((admin) => createFirstApp(admin, config, names));
        const written = writeEnvFile(config);
        if (written !== undefined) printMessage(written);
        // Key and token only go to standard output, because standard error is often kept.
        printResult(
          {
            team_id: first.team.id,
            app_id: first.app.id,
            client_id: first.app.client_id,
            key: first.key,
            write_token: first.writeToken,
          },
          describeFirstSteps(config, first),
        );
        printMessage(`${config.program} serve starts the API and the collector.`);
        return { team_id: first.team.id, app_id: first.app.id };
      }),
    );
}
