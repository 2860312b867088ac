import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BackgroundTasks } from '../../shared/async/background-tasks.js';
import { logsRetainedFrom, trafficRetainedFrom } from '../../config/retention.js';
import type { RequestsWriter } from '../../write/requests.writer.js';
import { DAY_MS } from '../../shared/time/units.js';
import { aggregateCounts } from './aggregate.js';
import { withCapture } from './capture/capture.js';
import type { DemoRequest } from './demo-request.js';
import { requestsBetween } from './generator.js';
import type { SeedProgress } from './progress-log.js';

/** The unit of loading, in days since the epoch. One insert of sums has one block. */
const BLOCK_MS = 10 * DAY_MS;
/** Each part is generated in one turn of the event loop, some milliseconds long. */
const PARTS_OF_DAY = 8;

/** The app and the time range of a sample. */
export interface DemoSample {
  appId: number;
  /** Its beginning, milliseconds since the epoch. */
  origin: number;
  /** Its end, milliseconds since the epoch: no request is later. */
  now: number;
}

/**
 * Starts of the blocks that contain the retained part at `now` of a sample that began at `origin`, oldest
 * first.
 */
export function listBlocks(origin: number, now: number): number[] {
  const first = Math.floor(Math.max(origin, trafficRetainedFrom(now)) / BLOCK_MS);
  const last = Math.floor(now / BLOCK_MS);
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * BLOCK_MS);
}

/** The steps of loading a block, by their names in the progress log. */
export function getSteps(block: number): { started: string; done: string } {
  return { started: `block ${block} begun as requests`, done: `block ${block} done` };
}

/**
 * Writes a sample block by block, each request once, even if a block is loaded repeatedly:
 *
 * A block that is wholly older than the logs' retention is written as sums, in one insert with one token, and
 * is then done. A younger block is written as requests, which the ledger records one by one. It is noted
 * before its first request: it may become old before it is complete, and must not be written as sums then.
 */
export class Loader {
  /** Writes while the next requests are generated. */
  private readonly writing = new BackgroundTasks();

  constructor(
    private readonly writer: RequestsWriter,
    private readonly progress: SeedProgress,
    private readonly sample: DemoSample,
  ) {}

  /**
   * Loads a block. The block may still be written when this resolves, until `end` resolves.
   *
   * @param block start of a block that is not done
   */
  async load(block: number): Promise<void> {
    const { started, done } = getSteps(block);
    const { now } = this.sample;
    const end = block + BLOCK_MS;
    if (!this.progress.isDone(started) && end <= logsRetainedFrom(now)) {
      await this.writeSums(block, end, done);
      return;
    }
    await this.progress.markDone(started);
    await this.writeRequests(block, end);
    await this.end();
    if (end <= now) await this.progress.markDone(done);
  }

  /** Waits until everything is written. */
  async end(): Promise<void> {
    await this.writing.end();
  }

  private async writeSums(from: number, to: number, done: string): Promise<void> {
    const { appId, origin } = this.sample;
    const sums = aggregateCounts(await generate(Math.max(from, origin), to, origin));
    const token = hash('sha256', `demo ${appId} ${from}`);
    await this.writing.start(async () => {
      await this.writer.writeCounts(appId, sums, token);
      await this.progress.markDone(done);
    });
  }

  /** Day by day: after an interruption, the next start writes the same batches, except for the last day's. */
  private async writeRequests(from: number, to: number): Promise<void> {
    const { appId, origin, now } = this.sample;
    for (let day = Math.max(from, origin); day < Math.min(to, now); day += DAY_MS) {
      const requests = await generate(day, day + DAY_MS, origin);
      const past = requests.filter(({ timestamp }) => timestamp <= now).map(withCapture);
      await this.writing.start(async () => {
        await this.writer.write(appId, past);
      });
    }
  }
}

/** Generates the requests of whole days; writes continue between its steps. */
async function generate(from: number, to: number, origin: number): Promise<DemoRequest[]> {
  const requests: DemoRequest[] = [];
  for (let part = from; part < to; part += DAY_MS / PARTS_OF_DAY) {
    requests.push(...requestsBetween(part, part + DAY_MS / PARTS_OF_DAY, origin));
    await nextTurn();
  }
  return requests;
}
