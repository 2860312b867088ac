import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadChdb } from '../../store/embedded/chdb.js';
import { findLockOwner, findMissingTables, requireAccess } from '../../store/embedded/data-directory.js';
import { hasStore, isExchanging } from '../../store/embedded/restored-data.js';
import { Config, ConfigError } from '../../config/config.js';
import {
  type CheckResult,
  FIX_FIRST,
  type Finding,
  checkProcess,
  checkStore,
  toResults,
} from '../../ops/doctor/doctor.js';
import { DoctorRepository } from '../../ops/doctor/doctor.repository.js';
import { type AuditTarget, runAudited } from './audit.js';
import { examples } from './options.js';
import { printResults } from './output.js';
import { withStore } from './with-store.js';

/** There are findings. */
const EXIT_FINDINGS = 2;
const CORRECT = 'Correct the variables; .env.example describes each.';

export function doctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('look for faults of configuration, store and Redis, each with its cure; changes nothing')
    .addHelpText(
      'after',
      `${examples('doctor', 'doctor --json | jq -r .finding')}\n\nExit code ${EXIT_FINDINGS}: there are findings.`,
    )
    .action(() => runAudited('doctor', {}, run));
}

async function run(): Promise<AuditTarget> {
  let findings = 0;
  const counted = async function* () {
    for await (const result of checkAll()) {
      if (result.status === 'finding') findings++;
      yield result;
    }
  };
  await printResults(counted());
  if (findings > 0) process.exitCode = EXIT_FINDINGS;
  return { findings };
}

async function* checkAll(): AsyncGenerator<CheckResult> {
  let config;
  try {
    config = new Config();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    yield* toResults('configuration', [{ finding: error.message, cure: CORRECT }]);
    return;
  }
  const cure = 'Correct the name, or remove the variable.';
  yield* toResults(
    'configuration',
    config.warnings.map((finding) => ({ finding, cure })),
  );
  const absent = await findAbsentStore(config);
  yield* toResults('store', absent);
  if (absent.length > 0) {
    if (config.clickhouse.url !== undefined || hasStore(config.dataDir)) yield* checkProcess(config);
    return;
  }
  yield* checkProcess(config);
  yield* await checkOpened(config);
}

/**
 * Why there is no store to check. The engine must not open an incomplete directory, because it would create
 * the missing parts again, empty.
 */
async function findAbsentStore({ clickhouse, dataDir }: Config): Promise<Finding[]> {
  if (clickhouse.url !== undefined) return findUnreachable(clickhouse.url);
  const directory = resolve(dataDir);
  try {
    requireAccess(directory);
  } catch (error) {
    return [
      {
        finding: toMessage(error),
        cure: 'Correct DATA_DIR, or run doctor as the account that owns the directory.',
      },
    ];
  }
  if (!hasStore(directory)) {
    // Without the engine, as in the image for a server, nothing can create a store.
    try {
      await loadChdb();
    } catch (error) {
      return [{ finding: toMessage(error), cure: CORRECT }];
    }
    return [
      {
        finding: `there is no store in ${dataDir}`,
        cure: 'Correct DATA_DIR, or create a team, which makes a store.',
      },
    ];
  }
  if (findLockOwner(directory) !== undefined || isExchanging(directory)) return [];
  return findMissingTables(directory).map(({ table }) => ({
    finding: `the files of the table ${table} are missing`,
    cure: 'Restore the last backup before anything opens the directory.',
  }));
}

async function findUnreachable(url: string): Promise<Finding[]> {
  try {
    await withStore((store) => store.rows('doctor.ping', 'SELECT 1 AS one'), { isPrepared: false });
    return [];
  } catch (error) {
    const finding = `${new URL(url).host}: ${toMessage(error)}`;
    return [{ finding, cure: 'Correct CLICKHOUSE_URL and its account, or start ClickHouse.' }];
  }
}

function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function checkOpened(config: Config): Promise<CheckResult[]> {
  try {
    return await withStore(
      async (store) => {
        const results: CheckResult[] = [];
        for await (const result of checkStore(new DoctorRepository(store), config)) results.push(result);
        return results;
      },
      { isPrepared: false },
    );
  } catch (error) {
    const finding = `the store cannot be opened: ${toMessage(error)}`;
    return [...toResults('store', [{ finding, cure: FIX_FIRST }])];
  }
}
