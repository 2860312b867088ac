import type { Command } from 'commander';
import { readStatus } from '../../ops/admin/store-status.js';
import { runAudited } from './audit.js';
import { examples } from './options.js';
import { printSections } from './output.js';
import { withStore } from './with-store.js';

export function statusCommand(program: Command): void {
  program
    .command('status')
    .description('show what is stored and since when, when data arrived last, and the size of each table')
    .addHelpText('after', examples('status', 'status --json | jq .tables'))
    .action(() =>
      runAudited('status', {}, async () => {
        printSections(await withStore(readStatus));
      }),
    );
}
