import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Child } from '../bench/rpc.js';
import { ProductProcess, SERVICE_NODE_OPTIONS } from '../setup/product-process.js';
import { copyStore } from '../setup/schema.js';
import { Attacker } from './attacker.js';
import type { Impact } from './neighbours.js';
import type { NeighbourHandlers } from './neighbours.process.js';
import type { Template } from './template.js';

/** The heap that Node takes in a container of 1 GiB, and the option of the image. */
export const NODE_OPTIONS = ['--max-old-space-size=512', ...SERVICE_NODE_OPTIONS];
/** What the examples of deployment give the collector. */
export const MEMORY_MIB = 1024;
/**
 * What the heap leaves of 1 GiB is shared by queries and what Node keeps outside of the heap. Times are long,
 * so that a busy machine does not look like a refusal.
 */
export const ENVIRONMENT = {
  QUERY_TIMEOUT_SECONDS: '30',
  QUERY_MAX_MEMORY_MB: '256',
  QUERY_MAX_RESULT_MB: '64',
  RATE_LIMIT_PER_MINUTE: '2000',
  COLLECTOR_RATE_LIMIT_PER_MINUTE: '10000',
  LOG_LEVEL: 'fatal',
  // As in the image.
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '1048576',
};

/** What an attack did. */
export interface Outcome extends Impact {
  attack: string;
  seconds: number;
  /** Processor time of the service. */
  processorSeconds: number;
  /** The most memory of the service, in MiB. */
  peakMiB: number;
  /** Responses to the attacker by status; 0: none. */
  responses: Record<string, number>;
  slowestResponseMs: number;
}

/** The product in a process of its own, an attacker, and two teams beside it. */
export class TestBed {
  private constructor(
    private readonly directory: string,
    readonly service: ProductProcess,
    readonly attacker: Attacker,
    private readonly neighbours: Child<NeighbourHandlers>,
  ) {}

  /** @param headers what the neighbours send with each request */
  static async start(
    { directory: source, teams }: Template,
    neighbours: Child<NeighbourHandlers>,
    { env = {}, headers = {} }: { env?: NodeJS.ProcessEnv; headers?: Readonly<Record<string, string>> } = {},
  ): Promise<TestBed> {
    const directory = mkdtempSync(join(tmpdir(), 'limits-'));
    copyStore(source, directory);
    const service = await ProductProcess.start(
      ['serve'],
      { DATA_DIR: directory, ...ENVIRONMENT, ...env },
      { nodeOptions: NODE_OPTIONS },
    );
    const [attacking, ...others] = teams;
    if (!attacking) throw new Error('the template has no teams');
    await neighbours.call('create', others, service.apiUrl, service.collectorUrl, headers);
    return new TestBed(directory, service, new Attacker(attacking, service), neighbours);
  }

  /** Makes an attack beside the neighbours' requests and resolves to what it did. */
  async measure(attack: string, make: (attacker: Attacker) => Promise<void>): Promise<Outcome> {
    const { service, attacker, neighbours } = this;
    attacker.forget();
    const [startedAt, processorBefore] = [performance.now(), service.processorSeconds];
    await neighbours.call('start');
    await make(attacker);
    const seconds = (performance.now() - startedAt) / 1000;
    const impact = await neighbours.call('stop');
    const { responses, slowestResponseMs } = attacker;
    const processorSeconds = service.processorSeconds - processorBefore;
    const peakMiB = Math.round(service.memory.peakMb);
    return { attack, seconds, ...impact, processorSeconds, peakMiB, responses, slowestResponseMs };
  }

  /** Stops the process in an orderly way and runs it again on the same data. */
  async restart(): Promise<void> {
    await this.service.stop();
    await this.service.launch();
  }

  async stop(): Promise<void> {
    await this.service.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
