import type { Command } from 'commander';
import { examples } from './options.js';

export function demoCommand(program: Command): void {
  program
    .command('demo')
    .description('load sample data up to now, and serve it')
    .option('--no-live', 'send no new requests while it runs')
    .addHelpText('after', examples('demo', 'demo --no-live'))
    .action(async (options: { live: boolean }) => {
      const { demo } = await import('./demo.js');
      await demo(options);
    });
}
