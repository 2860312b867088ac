import type { Command } from 'commander';
import { Config } from '../config/config.js';

export function demoCommand(program: Command): void {
  program
    .command('demo')
    .description('load sample data up to now, and serve it')
    .action(async () => {
      const { demo } = await import('./demo.js');
      await demo(new Config());
    });
}
