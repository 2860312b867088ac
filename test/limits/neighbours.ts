import { setTimeout as pause } from 'node:timers/promises';
import { logFile } from '../collector/setup/log-file.js';
import { buildCount, buildLogItem, buildSync } from '../collector/setup/messages.js';
import { quantile } from '../resilience/load.js';
import { type Sample, countByStatus, request } from './http.js';
import type { Team } from './template.js';

/** How often each team sends a message and reads. */
const INTERVAL_MS = 200;
const LIVE_INTERVAL_MS = 100;
/** Requests that one `sync` counts. */
const COUNTED = 3;
const READS = ['endpoints', 'request-logs?limit=100', 'traffic'];

/** Milliseconds that responses took. */
export interface Latency {
  samples: number;
  p50: number;
  p99: number;
  max: number;
}

/** What an attack did to those beside it. */
export interface Impact {
  reads: Latency;
  messages: Latency;
  /** Refused reads and messages by status; 0: no response. */
  refusals: Record<string, number>;
  liveMaxMs: number;
  /** Reads that the windows of the keys' rate limit did not count. */
  lostCounts: number;
}

/** Requests of one team: counted in its traffic, and in its request logs. */
export interface Totals {
  read: { counted: number; logged: number };
  acknowledged: { counted: number; logged: number };
}

/**
 * Teams beside an attacker. Each sends counts and logged requests and reads, at a steady pace: a request that
 * waits does not keep back the next one, as those of many users do not.
 */
export class Neighbours {
  /** By team. */
  private reads: Promise<Sample>[][] = [];
  private messages: Promise<Sample>[] = [];
  private live: Promise<Sample>[] = [];
  private stopping = new AbortController();
  private pacing: Promise<void>[] = [];
  /** A read of each team before the others, which shows what its window has counted so far. */
  private before: Sample[] = [];
  private readonly acknowledged: Totals['acknowledged'][];

  /** @param headers what each request has */
  constructor(
    private readonly teams: readonly Team[],
    private readonly apiUrl: string,
    private readonly collectorUrl: string,
    private readonly headers: Readonly<Record<string, string>>,
  ) {
    this.acknowledged = teams.map(() => ({ counted: 0, logged: 0 }));
  }

  async start(): Promise<void> {
    this.before = await Promise.all(this.teams.map((team) => this.read(team, 'endpoints')));
    this.stopping = new AbortController();
    this.reads = this.teams.map(() => []);
    [this.messages, this.live] = [[], []];
    this.pacing = [
      this.pace(LIVE_INTERVAL_MS, () => this.live.push(request(`${this.apiUrl}/health/live`))),
      ...this.teams.flatMap((team, index) => [
        this.pace(INTERVAL_MS, (tick) => this.messages.push(this.send(team, index, tick))),
        this.pace(INTERVAL_MS, (tick) =>
          this.reads[index]?.push(this.read(team, READS[tick % READS.length] ?? '')),
        ),
      ]),
    ];
  }

  /** Ends the pace; resolves once all responses are there. */
  async stop(): Promise<Impact> {
    this.stopping.abort();
    await Promise.all(this.pacing);
    const reads = await Promise.all(this.reads.map((read) => Promise.all(read)));
    const messages = await Promise.all(this.messages);
    const live = await Promise.all(this.live);
    const refused = [...reads.flat(), ...messages].filter(({ status }) => status !== 200 && status !== 202);
    return {
      reads: measureLatency(reads.flat()),
      messages: measureLatency(messages),
      refusals: countByStatus(refused),
      liveMaxMs: measureLatency(live).max,
      lostCounts: reads.reduce((sum, read, team) => sum + countLost(read, this.before[team]!), 0),
    };
  }

  /** What each team can read of itself, beside what was acknowledged. */
  async readTotals(): Promise<Totals[]> {
    const totals: Totals[] = [];
    for (const [index, acknowledged] of this.acknowledged.entries()) {
      const team = this.teams[index]!;
      const traffic = await this.readRecords<{ requests: number }>(team, 'traffic');
      const logs = await this.readRecords<object>(team, 'request-logs?limit=1000');
      const counted = traffic.reduce((sum, { requests }) => sum + requests, 0);
      totals.push({ read: { counted, logged: logs.length }, acknowledged });
    }
    return totals;
  }

  private async readRecords<T>(team: Team, resource: string): Promise<T[]> {
    const { status, text } = await this.read(team, resource);
    if (status !== 200) throw new Error(`${resource}: ${status} ${text}`);
    return (JSON.parse(text) as { data: T[] }).data;
  }

  private read({ key, appId }: Team, resource: string): Promise<Sample> {
    const headers = { ...this.headers, 'api-key': key };
    return request(`${this.apiUrl}/v1/apps/${appId}/${resource}`, { headers });
  }

  /** Counts as a rule, and a log file each fifth time. */
  private async send({ clientId }: Team, index: number, tick: number): Promise<Sample> {
    const isLog = tick % 5 === 4;
    const kind = isLog ? `log?uuid=${crypto.randomUUID()}` : 'sync';
    const body = isLog
      ? new Uint8Array(logFile([buildLogItem()]))
      : JSON.stringify(buildSync({ requests: [buildCount({ request_count: COUNTED })] }));
    const url = `${this.collectorUrl}/v2/${clientId}/prod/${kind}`;
    const sample = await request(url, { method: 'POST', headers: this.headers, body });
    const acknowledged = this.acknowledged[index];
    if (acknowledged && sample.status === 202) {
      if (isLog) acknowledged.logged += 1;
      else acknowledged.counted += COUNTED;
    }
    return sample;
  }

  private async pace(intervalMs: number, act: (tick: number) => unknown): Promise<void> {
    const startedAt = performance.now();
    for (let tick = 0; !this.stopping.signal.aborted; tick++) {
      act(tick);
      await pause(Math.max(0, startedAt + (tick + 1) * intervalMs - performance.now()));
    }
  }
}

function measureLatency(samples: readonly Sample[]): Latency {
  const times = samples.map(({ ms }) => ms);
  const rounded = (share: number) => Math.round(quantile(times, share));
  return { samples: samples.length, p50: rounded(0.5), p99: rounded(0.99), max: rounded(1) };
}

/**
 * Reads of a key that its windows did not count since the one before them, by the headers of the responses.
 */
function countLost(reads: readonly Sample[], before: Sample): number {
  const first = readWindow(before);
  const windows = new Map([[first.reset, { sent: first.counted, counted: first.counted }]]);
  for (const { reset, counted } of reads.map(readWindow)) {
    const window = windows.get(reset) ?? { sent: 0, counted: 0 };
    windows.set(reset, { sent: window.sent + 1, counted: Math.max(window.counted, counted) });
  }
  return [...windows.values()].reduce((sum, { sent, counted }) => sum + sent - counted, 0);
}

function readWindow({ headers }: Sample) {
  const read = (name: string) => Number(headers.get(`x-ratelimit-${name}`) ?? 0);
  return { reset: read('reset'), counted: read('limit') - read('remaining') };
}
