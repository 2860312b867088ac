import type { Command } from 'commander';
import { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { checkTables } from '../clickhouse/damage.js';
import { Config } from '../config/config.js';
import { type AuditTarget, runAudited } from './audit.js';
import { examples } from './options.js';
import { printResults } from './output.js';

export function verifyCommand(program: Command): void {
  program
    .command('verify')
    .description('read every table and compare it with its checksums; changes nothing')
    .addHelpText('after', examples('verify'))
    .action(() => runAudited('verify', {}, run));
}

/** @throws Error after all tables were checked, if one is damaged */
async function run(): Promise<AuditTarget> {
  const store = await ClickHouse.open(new Config());
  try {
    let [tables, unsound] = [0, 0];
    const counted = async function* () {
      for await (const check of checkTables(store)) {
        tables++;
        if (check.status !== 'ok') unsound++;
        yield check;
      }
    };
    await printResults(counted());
    if (unsound > 0) throw new Error(`${unsound} of ${tables} tables are damaged or missing`);
    return { tables };
  } finally {
    await store.close();
  }
}
