import type { Command } from 'commander';
import { readStatus } from '../../ops/admin/store-status.js';
import { runAudited } from './audit.js';
import { examples } from './options.js';
import { printSections } from './output.js';
import { withStore } from './with-store.js';

export function statusCommand(program: Command): void {
  program
    .command('status')
    .description('show what is stored and since when, and when data arrived last')
    .option('--tables', 'also rows, bytes and parts of each table')
    .addHelpText('after', examples('status', 'status --tables --json | jq .tables'))
    .action(({ tables: hasTables = false }: { tables?: boolean }) =>
      runAudited('status', {}, async () => {
        const { tables, ...stored } = await withStore(readStatus);
        printSections(hasTables ? { ...stored, tables } : stored);
      }),
    );
}
