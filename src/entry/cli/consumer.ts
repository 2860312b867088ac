import type { Command } from 'commander';
import { createAdmin } from '../../ops/admin/admin.js';
import { ConsumerEraser } from '../../ops/admin/consumer-eraser.js';
import { BatchLog } from '../../write/batch-log.js';
import { runAudited } from './audit.js';
import { confirm } from './confirm.js';
import { consumerIdentifier, examples, id } from './options.js';
import { printMessage, printResult } from './output.js';
import { withStore } from './with-store.js';

export function consumerCommand(program: Command): void {
  const consumer = program
    .command('consumer')
    .description('consumers of monitored apps')
    .addHelpText('after', examples('consumer erase --app 1 --identifier ann@example.com'));
  consumer
    .command('erase')
    .description('erase a consumer from everything that is stored; counts stay without a name')
    .requiredOption('--app <id>', 'app ID', id)
    .requiredOption('--identifier <identifier>', 'its identifier, as the app names it', consumerIdentifier)
    .option('--yes', 'do not ask', false)
    .addHelpText('after', examples('consumer erase --app 1 --identifier ann@example.com --yes'))
    .action(({ app, identifier, yes }: { app: number; identifier: string; yes: boolean }) =>
      // The audit line has only the ID, because the line outlives the consumer.
      runAudited('consumer.erase', { app_id: app }, async () => {
        await confirm(() => Promise.resolve(`Erase consumer ${identifier} of app ${app}?`), yes);
        const erasure = await withStore(async (store, { coordinator, isShared }) => {
          await createAdmin(store).apps.require(app);
          const batches = new BatchLog(store, coordinator);
          return new ConsumerEraser(store, batches, isShared).erase(app, identifier);
        });
        printResult(erasure);
        const { consumer_ids, endpoints_with_identifier: endpoints } = erasure;
        if (endpoints > 0)
          printMessage(`${endpoints} endpoints have the identifier in their path; they stay`);
        return { consumer_ids: consumer_ids.join() };
      }),
    );
}
