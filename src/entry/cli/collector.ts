import type { Command } from 'commander';
import { runCollector } from '../bootstrap/run.js';
import { SERVER_VARIABLES, examples } from './options.js';

export function collectorCommand(program: Command): void {
  program
    .command('collector')
    .description('accept data from applications, in a process without the API')
    .option('--collector-port <port>', 'port of the collector; default: COLLECTOR_PORT, or 3001')
    .option('--host <address>', 'address to listen on; default: HOST, or all addresses')
    .addHelpText('after', examples('collector', 'collector --collector-port 3006'))
    .addHelpText('after', SERVER_VARIABLES)
    .action(async () => {
      await runCollector();
    });
}
