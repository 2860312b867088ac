import type { Command } from 'commander';
import { runCollector } from '../bootstrap/run.js';
import { examples } from './options.js';

export function collectorCommand(program: Command): void {
  program
    .command('collector')
    .description('accept data from applications, in a process without the API')
    .addHelpText('after', examples('collector'))
    .action(async () => {
      await runCollector();
    });
}
