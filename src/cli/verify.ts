import type { Command } from 'commander';
import { AdminError } from '../admin/admin.error.js';
import type { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { checkTables } from '../clickhouse/damage.js';
import { requireAccess } from '../clickhouse/embedded/data-directory.js';
import { hasStore } from '../clickhouse/embedded/restored-data.js';
import { Config } from '../config/config.js';
import { type AuditTarget, runAudited } from './audit.js';
import { examples } from './options.js';
import { printResults } from './output.js';
import { withStore } from './with-store.js';

export function verifyCommand(program: Command): void {
  program
    .command('verify')
    .description('read every table and compare it with its checksums; changes nothing')
    .addHelpText('after', examples('verify'))
    .action(() =>
      runAudited('verify', {}, () => {
        requireStore(new Config());
        return run();
      }),
    );
}

/** The engine makes a directory that is missing, and the command changes nothing. */
function requireStore({ clickhouse, dataDir }: Config): void {
  if (clickhouse.url !== undefined) return;
  requireAccess(dataDir);
  if (!hasStore(dataDir)) throw new AdminError(`There is no store in ${dataDir}`);
}

/** @throws Error after all tables were checked, if one is damaged */
function run(): Promise<AuditTarget> {
  const check = async (store: ClickHouse) => {
    let [tables, unsound] = [0, 0];
    const counted = async function* () {
      for await (const result of checkTables(store)) {
        tables++;
        if (result.status !== 'ok') unsound++;
        yield result;
      }
    };
    await printResults(counted());
    if (unsound > 0) throw new Error(`${unsound} of ${tables} tables are damaged or missing`);
    return { tables };
  };
  return withStore(check, { isPrepared: false });
}
