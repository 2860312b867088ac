import { statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { checkTables } from '../../store/health/damage.js';
import { listTtls, readApplied, readMigrations } from '../../store/migrations/migrate.js';
import { MigrationError } from '../../store/migrations/migration.error.js';
import { TimeoutError, withTimeout } from '../../shared/async/timeout.js';
import { explainRefusal, readRefusedSenders } from '../../access/tokens/refusals.js';
import type { Config } from '../../config/config.js';
import { DoctorRepository, type RollupDifference } from './doctor.repository.js';

/** The cure of a finding that prevents a check. */
export const FIX_FIRST = 'Fix this first, and run doctor again.';

/** A fault, and its cure. */
export interface Finding {
  finding: string;
  /** One sentence. */
  cure: string;
  /** Not a fault: something was left unchecked. */
  isSkipped?: boolean;
}

/** The findings of a check: one, several, or none. */
type Findings = Finding | Finding[];

/** The result of one check: no finding, one of its findings, or a note that something was left unchecked. */
export interface CheckResult {
  check: string;
  status: 'ok' | 'finding' | 'skipped';
  finding: string | null;
  cure: string | null;
}

interface Check {
  name: string;
  /** Default: `CHECK_MS`. */
  limitMs?: number;
  run: () => Promise<Findings> | Findings;
}

const CHECK_MS = 15_000;
/** Tables that are not read within this time are left to `verify`. */
const READ_TABLES_MS = 60_000;
/** Smaller differences of clocks do not matter for retention, expiry and rate limits. */
const MAX_SKEW_MS = 2_000;
/** The version that the tests use. */
const ENGINE = '26.7';
const MIN_FREE_BYTES = 1024 ** 3;
const MIN_FREE_SHARE = 0.05;
/** Parts of one partition. The engine delays inserts at 1,000. */
const MAX_PARTS = 300;
const OWN_GRANTS = [
  ...['SELECT', 'INSERT', 'ALTER', 'CREATE TABLE', 'CREATE VIEW', 'DROP TABLE', 'DROP VIEW', 'TRUNCATE'],
  ...['OPTIMIZE', 'CHECK', 'BACKUP'],
];
/** The service needs none of them. */
const FOREIGN_GRANTS = ['CREATE USER', 'SYSTEM SHUTDOWN', 'FILE'];
/** A block of an import, which may be of any day, reaches one table a moment later than another. */
const [COMPARE_TIMES, COMPARE_PAUSE_MS] = [3, 500];

/** The checks that need no store. */
export function checkProcess(config: Config): AsyncGenerator<CheckResult> {
  return runChecks([
    { name: 'proxy', run: () => checkProxy(config) },
    { name: 'data directory', run: () => checkDirectory(config) },
    { name: 'redis', run: () => checkRedis(config) },
  ]);
}

/** The checks of a store. */
export function checkStore(repository: DoctorRepository, config: Config): AsyncGenerator<CheckResult> {
  return runChecks([
    { name: 'clock and engine', run: () => checkClock(repository) },
    ...(config.clickhouse.url === undefined
      ? []
      : [{ name: 'grants', run: () => checkGrants(repository, config) }]),
    { name: 'schema', run: () => checkSchema(repository) },
    { name: 'retention', run: () => checkTableRetention(repository) },
    { name: 'disk', run: () => checkDisks(repository) },
    { name: 'parts', run: () => checkParts(repository) },
    { name: 'mutations and merges', run: () => checkMutations(repository) },
    { name: 'collector', run: () => checkCollector(repository, config) },
    { name: 'senders', run: () => checkSenders(repository, config) },
    { name: 'alerts', run: () => checkAlerts(repository) },
    { name: 'rollups', run: () => checkRollups(repository) },
    { name: 'tables', limitMs: 2 * READ_TABLES_MS, run: () => checkData(repository) },
  ]);
}

/** Runs each check separately: a check that fails, or takes too long, is a finding. */
async function* runChecks(checks: readonly Check[]): AsyncGenerator<CheckResult> {
  for (const { name, run, limitMs = CHECK_MS } of checks) {
    const findings = await withTimeout(
      limitMs,
      Promise.resolve().then(() => run()),
    ).catch(toFinding);
    yield* toResults(name, [findings].flat());
  }
}

export function* toResults(check: string, findings: readonly Finding[]): Generator<CheckResult> {
  if (findings.length === 0) yield { check, status: 'ok', finding: null, cure: null };
  for (const { finding, cure, isSkipped } of findings)
    yield { check, status: isSkipped ? 'skipped' : 'finding', finding, cure };
}

function toFinding(error: unknown): Finding {
  const reason = error instanceof Error ? error.message : String(error);
  const isLate = error instanceof TimeoutError;
  return {
    finding: `could not be checked: ${reason}`,
    cure: isLate ? 'Look for what keeps the store busy, and run doctor again.' : FIX_FIRST,
  };
}

function checkProxy({ trustProxy, publicPath }: Config): Findings {
  if (trustProxy === true)
    return {
      finding: 'TRUST_PROXY=true believes every address that a client sends',
      cure: 'Set TRUST_PROXY to the number of proxies in front, or to their addresses.',
    };
  if ((trustProxy !== false && trustProxy !== 0) || publicPath === '') return [];
  return {
    finding:
      'PUBLIC_PATH says that there is a proxy, but TRUST_PROXY is off: all clients count as one address',
    cure: 'Set TRUST_PROXY to the number of proxies in front.',
  };
}

function checkDirectory({ clickhouse, dataDir }: Config): Findings {
  if (clickhouse.url !== undefined) return [];
  const { mode } = statSync(dataDir);
  if ((mode & 0o077) === 0) return [];
  return {
    finding: `other accounts of this machine have access to ${dataDir} (mode ${(mode & 0o777).toString(8)})`,
    cure: `Run chmod 700 ${dataDir}.`,
  };
}

async function checkRedis({ redisUrl }: Config): Promise<Findings> {
  if (redisUrl === undefined) return [];
  // Most installations have no Redis and do not load its client.
  const { readRedis } = await import('./redis-report.js');
  const sentAt = Date.now();
  let report;
  try {
    report = await readRedis(redisUrl);
  } catch (error) {
    return {
      finding: `Redis is not available: ${error instanceof Error ? error.message : String(error)}`,
      cure: 'Start Redis, or correct REDIS_URL and the password in it.',
    };
  }
  const findings = compareClocks('Redis', report.ms, sentAt, Date.now());
  if (report.policy !== 'noeviction')
    findings.push({
      finding: `Redis evicts keys when its memory is full (${report.policy}): locks, IDs and counts of requests would be lost`,
      cure: 'Set maxmemory-policy to noeviction.',
    });
  if (report.isPersistent === false)
    findings.push({
      finding:
        'Redis keeps nothing over a restart: windows of rate limits begin again, and IDs jump by 1,000',
      cure: 'Set appendonly to yes.',
    });
  return findings;
}

async function checkClock(repository: DoctorRepository): Promise<Finding[]> {
  const sentAt = Date.now();
  const { ms, version } = await repository.readClock();
  const findings = compareClocks('the store', ms, sentAt, Date.now());
  if (!version.startsWith(`${ENGINE}.`))
    findings.push({
      finding: `the engine is ClickHouse ${version}, which was not tested`,
      cure: `Use ClickHouse ${ENGINE}.`,
    });
  return findings;
}

/** The other clock was read at a moment between both times. */
function compareClocks(whose: string, ms: number, sentAt: number, receivedAt: number): Finding[] {
  const skew = Math.max(sentAt - ms, ms - receivedAt);
  if (skew <= MAX_SKEW_MS) return [];
  return [
    {
      finding: `the clocks of ${whose} and of this process differ by ${(skew / 1000).toFixed(1)} s`,
      cure: 'Synchronise the clocks of the machines, for example with chrony.',
    },
  ];
}

async function checkGrants(repository: DoctorRepository, { clickhouse }: Config): Promise<Finding[]> {
  const { user, database } = clickhouse;
  const missing: string[] = [];
  for (const grant of OWN_GRANTS)
    if (!(await repository.hasGrant(grant, 'database', database))) missing.push(grant);
  const foreign: string[] = [];
  for (const grant of FOREIGN_GRANTS)
    if (await repository.hasGrant(grant, 'server', database)) foreign.push(grant);
  const cure = 'Run clickhouse/accounts/roles.sql again, and use analytics_owner for the command line.';
  return [
    ...(missing.length > 0 ? [{ finding: `the account ${user} may not ${missing.join(', ')}`, cure }] : []),
    ...(foreign.length > 0
      ? [{ finding: `the account ${user} may ${foreign.join(', ')}, which the service does not need`, cure }]
      : []),
  ];
}

async function checkSchema({ store }: DoctorRepository): Promise<Findings> {
  const migrations = await readMigrations();
  let applied;
  try {
    applied = await readApplied(store, migrations);
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    const cure = 'Use the version that made the schema or a newer one, or restore a backup of this version.';
    return { finding: error.message, cure };
  }
  const pending = migrations.filter(({ version }) => !applied.has(version));
  if (pending.length === 0) return [];
  const names = pending.map(({ name }) => name).join(', ');
  return { finding: `migrations that have not run: ${names}`, cure: 'Run request-analytics migrate.' };
}

async function checkTableRetention(repository: DoctorRepository): Promise<Finding[]> {
  const actual = await repository.readTtls();
  const wanted = [...listTtls(await readMigrations())];
  const formatted = await repository.formatTtls(wanted.map(([, ttl]) => ttl));
  const findings: Finding[] = [];
  for (const [index, [table, ttl]] of wanted.entries()) {
    const found = actual.get(table);
    if (found === formatted[index]) continue;
    const has = found === undefined ? 'no TTL' : `the TTL ${found.replace(/^SELECT /, '')}`;
    findings.push({
      finding: `${table} has ${has}, not that of the migrations`,
      cure: `Run ALTER TABLE ${table} MODIFY TTL ${ttl}.`,
    });
  }
  return findings;
}

async function checkDisks(repository: DoctorRepository): Promise<Finding[]> {
  return (await repository.readDisks()).flatMap(({ name, path, free, total, is_read_only, is_broken }) => {
    if (is_broken || is_read_only)
      return {
        finding: `the disk ${name} (${path}) is ${is_broken ? 'broken' : 'read-only'}`,
        cure: 'Repair the disk or its mount, and start the engine again.',
      };
    if (free >= MIN_FREE_BYTES && free >= MIN_FREE_SHARE * total) return [];
    const share = Math.floor((100 * free) / Math.max(1, total));
    return {
      finding: `the disk ${name} (${path}) has ${Math.floor(free / 1024 ** 2)} MB free, ${share} % of it`,
      cure: 'Free space on it or enlarge it: see "The disk is full" in docs/recover.md.',
    };
  });
}

async function checkParts(repository: DoctorRepository): Promise<Finding[]> {
  return (await repository.findManyParts(MAX_PARTS)).map(({ table, parts }) => ({
    finding: `${table} has ${parts} parts in one partition: merges do not keep up`,
    cure: `Write in fewer and larger batches, and run OPTIMIZE TABLE ${table}.`,
  }));
}

async function checkMutations(repository: DoctorRepository): Promise<Finding[]> {
  const mutations = await repository.findStuckMutations();
  const merges = await repository.findLongMerges();
  return [
    ...mutations.map(({ table, id, reason }) => ({
      finding: `the mutation ${id} of ${table} does not end${reason === '' ? '' : `: ${reason.replace(/\s+/g, ' ')}`}`,
      cure: `Fix its cause, or run KILL MUTATION WHERE table = '${table}' AND mutation_id = '${id}'.`,
    })),
    ...merges.map(({ table, part, seconds }) => ({
      finding: `the merge of ${part} in ${table} has run for ${seconds} s`,
      cure: 'Look for a slow disk or too little memory.',
    })),
  ];
}

async function checkCollector(repository: DoctorRepository, config: Config): Promise<Finding[]> {
  const batches = await repository.countLateBatches();
  const spans = await repository.countLateSpans(Math.ceil(config.collector.spanCountDelayMs / 1000));
  const findings: Finding[] = [];
  if (batches.late > 0)
    findings.push({
      finding: `${batches.late} batches are acknowledged but not applied, the oldest since ${batches.since} UTC`,
      cure: 'Start a collector, which applies them, and read in its log why it did not.',
    });
  if (spans.late > 0)
    findings.push({
      finding: `spans of ${spans.late} instances are not counted, the oldest since ${spans.since} UTC`,
      cure: 'Start a collector, which counts them, and read in its log why it did not.',
    });
  return findings;
}

async function checkSenders({ store }: DoctorRepository, config: Config): Promise<Finding[]> {
  return (await readRefusedSenders(store)).map(({ address, route, cause, refused_at }) => {
    const { reason, cure } = explainRefusal(config, cause);
    return {
      finding: `a sender at ${address} was refused at ${route}, last at ${refused_at}: ${reason}`,
      cure: `${cure.charAt(0).toUpperCase()}${cure.slice(1)}.`,
    };
  });
}

async function checkAlerts(repository: DoctorRepository): Promise<Finding[]> {
  return (await repository.findFailedAlerts()).map(({ team_id, channel, error, messages }) => ({
    finding: `${messages} messages of alerts of team ${team_id} to ${channel} were not delivered: ${error || 'not tried yet'}`,
    cure: 'Run alert test for a rule of the team, and correct its receiver.',
  }));
}

async function checkRollups(repository: DoctorRepository): Promise<Finding[]> {
  let found: RollupDifference[] = [];
  for (let time = 0; time < COMPARE_TIMES; time++) {
    if (time > 0) await pause(COMPARE_PAUSE_MS);
    found = await repository.compareRollups();
    if (found.length === 0) return [];
  }
  return found.map(({ table, source, difference }) => ({
    finding: `${table} counts ${Math.abs(difference)} ${difference > 0 ? 'more' : 'fewer'} than ${source} in the 30 days before today`,
    cure: 'Restore the last backup without the difference, or keep it in mind when you compare periods.',
  }));
}

/** Reading all of a large store would take too long here. */
async function checkData({ store }: DoctorRepository): Promise<Finding[]> {
  const findings: Finding[] = [];
  const deadline = Date.now() + READ_TABLES_MS;
  const tables = checkTables(store);
  let last = 'none';
  for (;;) {
    const next = await withTimeout(Math.max(1, deadline - Date.now()), tables.next()).catch(
      (error: unknown) => {
        if (error instanceof TimeoutError) return undefined;
        throw error;
      },
    );
    if (next?.done) return findings;
    if (!next) break;
    const { table, damage } = next.value;
    last = table;
    for (const { part, description } of damage)
      findings.push({
        finding: `${table}${part === null || part === '' ? '' : `, part ${part}`}: ${description}`,
        cure: 'Keep a copy of the data, and see "Stored data is damaged" in docs/recover.md.',
      });
  }
  const finding = `not all tables were read within ${READ_TABLES_MS / 1000} s; the last one was ${last}`;
  return [
    ...findings,
    { finding, cure: 'Run request-analytics verify, which reads all of them.', isSkipped: true },
  ];
}
