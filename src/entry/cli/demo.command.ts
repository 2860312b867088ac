import type { Command } from 'commander';
import { examples } from './options.js';

export function demoCommand(program: Command): void {
  program
    .command('demo')
    .description('load sample data up to now, and serve it')
    .addHelpText('after', examples('demo'))
    .action(async () => {
      const { demo } = await import('./demo.js');
      await demo();
    });
}
