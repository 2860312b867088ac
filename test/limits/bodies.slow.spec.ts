import { randomUUID } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { thisMachine } from '../bench/machine.js';
import { figure, table } from '../bench/report/markdown.js';
import { Child } from '../bench/rpc.js';
import { BODIES, type HostileBody } from './bodies.js';
import { request } from './http.js';
import type { NeighbourHandlers } from './neighbours.process.js';
import { Template } from './template.js';
import { TestBed } from './test-bed.js';

/** What the examples of deployment give the collector. */
const MEMORY_MIB = 1024;
/** A bound against hangs alone: on an idle machine blocks are tens of milliseconds, on a busy one seconds. */
const BLOCK_MS = 20_000;
const REPEAT_AFTER_MS = 50;

jest.setTimeout(60_000);

const template = new Template();
const rows: string[][] = [];
let neighbours: Child<NeighbourHandlers>;
let testBed: TestBed;

beforeAll(async () => {
  await template.fill(3);
  neighbours = await Child.start('../limits/neighbours.process.ts', {
    env: { NODE_OPTIONS: '--import ./test/setup/typescript.js' },
    log: join(template.directory, 'neighbours.log'),
  });
  testBed = await TestBed.start(template, neighbours, {
    env: { RATE_LIMIT_PER_MINUTE: '1000000', COLLECTOR_MAX_APP_SECONDS: '60' },
  });
});

afterAll(async () => {
  await testBed.stop();
  await neighbours.stop();
  template.remove();
  const { cores, load } = thisMachine();
  const head = ['Body', 'wire KB', 'status', 's', 'block ms', 'reads ms', 'sends ms', 'MiB'];
  process.stdout.write(
    `${table(head, rows)}\nreads and sends of two teams beside: p50 / p99; ${cores} cores, load ${load}\n`,
  );
});

describe('two teams are served, and the process lives within its memory, beside', () => {
  it.each(BODIES.map((make, n) => [n + 1, make] as const))('body %d', async (n, make) => {
    const body = make();
    resetPeak(testBed.service.pid);
    await readLongestBlock();
    let sample = { status: 0, text: '' };
    const outcome = await testBed.measure(body.name, async (attacker) => {
      sample = attacker.note(await send(body));
    });
    const blockMs = await readLongestBlock();
    const { reads, messages, peakMiB, seconds } = outcome;
    if (process.env.BODIES_LOG)
      appendFileSync(
        process.env.BODIES_LOG,
        `${JSON.stringify([n, body.name, sample.status, sample.text.slice(0, 150), figure(seconds), figure(blockMs), reads, messages, peakMiB, outcome.refusals])}\n`,
      );
    rows.push([
      body.name,
      figure(body.body.length / 1000),
      String(sample.status),
      figure(seconds),
      figure(blockMs),
      `${figure(reads.p50)} / ${figure(reads.p99)}`,
      `${figure(messages.p50)} / ${figure(messages.p99)}`,
      figure(peakMiB),
    ]);
    expect([body.name, testBed.service.isRunning]).toEqual([body.name, true]);
    expect([body.name, sample.status, sample.text]).toEqual([
      body.name,
      body.status,
      expect.stringMatching(body.says ?? /^/),
    ]);
    expect([body.name, outcome.refusals]).toEqual([body.name, {}]);
    expect(peakMiB).toBeLessThan(MEMORY_MIB);
    expect(blockMs).toBeLessThan(BLOCK_MS);
  });

  it('all of them, and what was acknowledged is there', async () => {
    for (const { read, acknowledged } of await neighbours.call('readTotals'))
      expect(read.counted).toEqual(acknowledged.counted);
  });
});

async function send({ way, headers, body }: HostileBody) {
  const { service, attacker } = testBed;
  const { clientId, token } = attacker.team;
  const isHub = !way.startsWith('v1/');
  const url = isHub
    ? `${service.collectorUrl}/v2/${clientId}/prod/${way}${way === 'log' ? `?uuid=${randomUUID()}` : ''}`
    : `${service.collectorUrl}/${way}`;
  const authorization: Record<string, string> = isHub ? {} : { authorization: `Bearer ${token}` };
  for (;;) {
    const sample = await request(url, { method: 'POST', headers: { ...authorization, ...headers }, body });
    // The app pauses after a body that took long.
    if (sample.status !== 429) return sample;
    await pause(REPEAT_AFTER_MS);
  }
}

/** The longest time in milliseconds for which the event loop stood still since the last call. */
async function readLongestBlock(): Promise<number> {
  const { text } = await request(`${testBed.service.metricsUrl}/metrics`);
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1]) * 1000;
}

/** The peak of a process begins anew (Linux). */
function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
