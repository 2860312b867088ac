import type { Command } from 'commander';
import { runServer } from '../run-server.js';

export function serveCommand(program: Command): void {
  program
    .command('serve')
    .description('serve the API, as npm start does')
    .action(async () => {
      await runServer();
    });
}
