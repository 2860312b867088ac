import type { Command } from 'commander';
import { runAll, runServer } from '../bootstrap/run.js';
import { examples } from './options.js';

export function serveCommand(program: Command): void {
  program
    .command('serve')
    .description('serve the API, as npm start does')
    .option('--collector', 'also accept data from client libraries, in the same process')
    .addHelpText('after', examples('serve', 'serve --collector'))
    .action(async ({ collector = false }: { collector?: boolean }) => {
      await (collector ? runAll() : runServer());
    });
}
