import type { Command } from 'commander';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { checkTables } from '../../store/health/damage.js';
import { Config } from '../../config/config.js';
import { type AuditTarget, runAudited } from './audit.js';
import { examples } from './options.js';
import { printResults } from './output.js';
import { requireStore, withStore } from './with-store.js';

export function verifyCommand(program: Command): void {
  program
    .command('verify')
    .description('read every table and compare it with its checksums; changes nothing')
    .addHelpText('after', examples('verify'))
    .action(() =>
      runAudited('verify', {}, () => {
        const { clickhouse, dataDir } = new Config();
        if (clickhouse.url === undefined) requireStore(dataDir);
        return run();
      }),
    );
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
