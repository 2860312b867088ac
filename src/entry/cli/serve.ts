import type { Command } from 'commander';
import { runServer } from '../bootstrap/run.js';
import { examples } from './options.js';

export function serveCommand(program: Command): void {
  program
    .command('serve')
    .description(
      'serve the API and the dashboard, and accept data on COLLECTOR_PORT; COLLECTOR=off: the API alone',
    )
    .addHelpText('after', examples('serve'))
    .action(async () => {
      await runServer();
    });
}
