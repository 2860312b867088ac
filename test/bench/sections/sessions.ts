import { computeStats, median } from '../load/stats.js';
import { readMainThreadSeconds, readProcessorSeconds } from '../machine.js';
import { type Options, wants } from '../options.js';
import { progress } from '../report/progress.js';
import { Service } from '../service.js';
import type { DataSet, Workspace } from '../workspace.js';
import { CASES } from './at-once.js';

/** `EMBEDDED_SESSIONS`: how many reads the engine runs at once. */
const SESSIONS = [1, 2, 4, 8];
const CONCURRENCY = 16;
const ROUNDS = 5;
const ROUND_MS = 2_000;
/** After a start, what is read first comes from the disk. */
const WARM_UP_MS = 500;

/** Queries a second over HTTP with sixteen at once, of a service with `sessions` sessions. */
export interface SessionsRate {
  id: string;
  title: string;
  concurrency: number;
  sessions: number;
  perSecond: number;
  p95: number;
  /** Processor time of a query in milliseconds: of the service, and of its JavaScript thread alone. */
  processorMs: number;
  javascriptMs: number;
}

/** Services with different numbers of sessions over the same data, one after another, in turns. */
export async function measureSessions(
  dataSet: DataSet,
  workspace: Workspace,
  options: Options,
): Promise<SessionsRate[]> {
  const wanted = CASES.filter((id) => wants(options, `at-once-sessions-${id}`));
  if (wanted.length === 0) return [];
  const measured: SessionsRate[] = [];
  for (let round = 0; round < ROUNDS; round++)
    for (const sessions of SESSIONS) {
      progress(`${CONCURRENCY} at once with ${sessions} sessions`);
      const service = await Service.start(dataSet, workspace, { EMBEDDED_SESSIONS: String(sessions) });
      try {
        for (const id of wanted) measured.push(await measureOne(service, id, sessions));
      } finally {
        await service.stop();
      }
    }
  return wanted.flatMap((id) =>
    SESSIONS.map((sessions) =>
      takeMedians(measured.filter((rate) => rate.id === id && rate.sessions === sessions)),
    ),
  );
}

async function measureOne(service: Service, id: string, sessions: number): Promise<SessionsRate> {
  const benchmarkCase = service.cases().find((candidate) => candidate.id === id);
  if (!benchmarkCase) throw new Error(`There is no case ${id}`);
  await service.httpRound(benchmarkCase, CONCURRENCY, WARM_UP_MS);
  const { pid } = service.server;
  const [processor, javascript] = [readProcessorSeconds(pid), readMainThreadSeconds(pid)];
  const took = await service.httpRound(benchmarkCase, CONCURRENCY, ROUND_MS);
  // Those that end after the round have taken processor time too.
  const queries = took.length + CONCURRENCY;
  return {
    id,
    title: benchmarkCase.title,
    concurrency: CONCURRENCY,
    sessions,
    perSecond: took.length / (ROUND_MS / 1000),
    p95: computeStats(took).p95,
    processorMs: ((readProcessorSeconds(pid) - processor) / queries) * 1000,
    javascriptMs: ((readMainThreadSeconds(pid) - javascript) / queries) * 1000,
  };
}

function takeMedians(rounds: readonly SessionsRate[]): SessionsRate {
  const [first] = rounds;
  if (!first) throw new Error('No rounds were measured');
  const of = (name: 'perSecond' | 'p95' | 'processorMs' | 'javascriptMs') =>
    median(rounds.map((round) => round[name]));
  return {
    ...first,
    perSecond: of('perSecond'),
    p95: of('p95'),
    processorMs: of('processorMs'),
    javascriptMs: of('javascriptMs'),
  };
}

/**
 * Queries a second that one process could serve with more cores, computed: all cores work for it, and one
 * thread runs all its JavaScript.
 */
export function computePerSecond(
  { processorMs, javascriptMs }: Pick<SessionsRate, 'processorMs' | 'javascriptMs'>,
  cores: number,
): number {
  return Math.min((cores * 1000) / processorMs, 1000 / javascriptMs);
}
