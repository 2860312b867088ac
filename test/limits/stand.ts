import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceProcess } from '../collector/setup/service-process.js';
import { Attacker } from './attacker.js';
import { Child } from '../bench/rpc.js';
import type { Impact } from './neighbours.js';
import type { NeighbourHandlers } from './neighbours.process.js';
import type { Team, Template } from './template.js';

/** The limit of memory that the examples of deployment give the collector. */
export const MEMORY_MIB = 1024;
/** The built command with the heap that Node takes where a container has 1 GiB. */
const PROGRAM = [
  ...(process.env.PROF ? ['--cpu-prof', '--cpu-prof-dir=/tmp/h5prof'] : []),
  '--max-old-space-size=512',
  'dist/cli.js',
];
/** What the heap leaves is shared by queries and by what Node keeps outside of the heap. */
const ENVIRONMENT = {
  QUERY_MAX_MEMORY_MB: '256',
  QUERY_MAX_RESULT_MB: '64',
  RATE_LIMIT_PER_MINUTE: '2000',
  COLLECTOR_RATE_LIMIT_PER_MINUTE: '10000',
  LOG_LEVEL: 'error',
};

/** What an attack did. */
export interface Outcome extends Impact {
  attack: string;
  seconds: number;
  peakMiB: number;
  /** Responses to the attacker by status; 0: none. */
  responses: Record<string, number>;
  slowestResponseMs: number;
}

/** The product in a process of its own, an attacker, and two teams beside it. */
export class Stand {
  private peakMiB = 0;

  private constructor(
    private readonly directory: string,
    readonly service: ServiceProcess,
    readonly attacker: Attacker,
    private readonly neighbours: Child<NeighbourHandlers>,
    private readonly teams: readonly Team[],
  ) {}

  static async start(
    { directory: source, teams }: Template,
    neighbours: Child<NeighbourHandlers>,
    env: NodeJS.ProcessEnv = {},
  ): Promise<Stand> {
    const directory = mkdtempSync(join(tmpdir(), 'limits-'));
    cpSync(source, directory, { recursive: true });
    const service = await ServiceProcess.start(directory, {
      program: PROGRAM,
      env: { ...ENVIRONMENT, ...env },
    });
    const [attacking, ...others] = teams;
    if (!attacking) throw new Error('the template has no teams');
    return new Stand(directory, service, new Attacker(attacking, service), neighbours, others);
  }

  /**
   * Makes an attack beside the neighbours' requests and resolves to what it did.
   *
   * @param headers what the neighbours send with each request
   */
  async measure(
    attack: string,
    make: (stand: Stand) => Promise<void>,
    headers: Record<string, string> = {},
  ): Promise<Outcome> {
    const { apiUrl, collectorUrl } = this.service;
    const startedAt = performance.now();
    await this.neighbours.call('start', this.teams, apiUrl, collectorUrl, headers);
    await make(this);
    const seconds = (performance.now() - startedAt) / 1000;
    const impact = await this.neighbours.call('stop');
    this.notePeak();
    expect(this.service.isRunning).toBe(true);
    for (const { read, acknowledged } of await this.neighbours.call('readTotals'))
      expect(read).toEqual(acknowledged);
    const { responses, slowestResponseMs } = this.attacker;
    return { attack, seconds, ...impact, peakMiB: this.peakMiB, responses, slowestResponseMs };
  }

  /** Stops the process in an orderly way and runs it again on the same data. */
  async restart(): Promise<void> {
    this.notePeak();
    await this.service.stop();
    await this.service.launch();
  }

  async stop(): Promise<void> {
    await this.service.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  private notePeak(): void {
    this.peakMiB = Math.max(this.peakMiB, this.service.peakMiB);
  }
}

/** Starts the process that the neighbours of all attacks run in. */
export function startNeighbours(): Promise<Child<NeighbourHandlers>> {
  return Child.start('../limits/neighbours.process.ts', {
    env: { NODE_OPTIONS: '--import ./test/setup/typescript.js' },
    log: '/tmp/neigh.log',
  });
}
