import type { Command } from 'commander';
import { runServer } from '../bootstrap/run.js';
import { SERVER_VARIABLES, examples } from './options.js';

export function serveCommand(program: Command): void {
  program
    .command('serve')
    .description(
      'serve the API and the dashboard, and accept data on COLLECTOR_PORT; COLLECTOR=off: the API alone',
    )
    .option('--port <port>', 'port of the API and the dashboard; default: PORT, or 3000')
    .option('--collector-port <port>', 'port of the collector; default: COLLECTOR_PORT, or 3001')
    .option('--host <address>', 'address to listen on; default: HOST, or all addresses')
    .addHelpText('after', examples('serve', 'serve --port 3005 --collector-port 3006 --data-dir ./shop'))
    .addHelpText('after', SERVER_VARIABLES)
    .action(async () => {
      await runServer();
    });
}
