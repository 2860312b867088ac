import type { Command } from 'commander';
import { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { checkTables } from '../clickhouse/damage.js';
import { Config } from '../config/config.js';
import { type AuditTarget, runAudited } from './audit.js';
import { printResult } from './output.js';

export function verifyCommand(program: Command): void {
  program
    .command('verify')
    .description('read every table and compare it with its checksums; changes nothing')
    .action(() => runAudited('verify', {}, run));
}

/** @throws Error after all tables were checked, if one is damaged */
async function run(): Promise<AuditTarget> {
  const store = await ClickHouse.open(new Config());
  try {
    let [tables, unsound] = [0, 0];
    for await (const check of checkTables(store)) {
      printResult(check);
      tables++;
      if (check.status !== 'ok') unsound++;
    }
    if (unsound > 0) throw new Error(`${unsound} of ${tables} tables are damaged or missing`);
    return { tables };
  } finally {
    await store.close();
  }
}
