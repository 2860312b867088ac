import type { Command } from 'commander';
import { examples } from './options.js';

export function demoCommand(program: Command): void {
  program
    .command('demo')
    .description('load sample data up to now, and serve it')
    .option('--no-live', 'send no new requests while it runs')
    .option('--port <port>', 'port of the API and the dashboard; default: PORT, or 3000')
    .option('--collector-port <port>', 'port of the collector; default: COLLECTOR_PORT, or 3001')
    .addHelpText('after', examples('demo', 'demo --no-live', 'demo --port 3005'))
    .action(async (options: { live: boolean }) => {
      const { demo } = await import('./demo.js');
      await demo(options);
    });
}
