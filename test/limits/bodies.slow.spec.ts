import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { thisMachine } from '../bench/machine.js';
import { figure, table } from '../bench/report/markdown.js';
import { type GrpcAnswer, GrpcSender, readRetryDelay } from '../collector/setup/grpc.js';
import { buildSync } from '../collector/setup/messages.js';
import type { Signal } from '../collector/setup/otlp.js';
import { quantile } from '../resilience/load.js';
import { ProductProcess } from '../setup/product-process.js';
import { copyStore } from '../setup/schema.js';
import type { PageBody } from '../setup/tenant.js';
import { BODIES, GRPC_WAY, type HostileBody } from './bodies.js';
import { type Sample, request } from './http.js';
import { type Team, Template } from './template.js';
import { ENVIRONMENT, MEMORY_MIB, NODE_OPTIONS } from './test-bed.js';

/** A bound against hangs alone: on an idle machine blocks are tens of milliseconds, on a busy one seconds. */
const BLOCK_MS = 20_000;
jest.setTimeout(300_000);

const template = new Template();
const directory = mkdtempSync(join(tmpdir(), 'limits-'));
const rows: string[][] = [];
let service: ProductProcess;
let [attacker, neighbour]: Team[] = [];

beforeAll(async () => {
  await template.fill(2);
  [attacker, neighbour] = template.teams;
  copyStore(template.directory, directory);
  // A busy machine must not look like an expensive body, nor reads without a pause like too many.
  const env = {
    RATE_LIMIT_PER_MINUTE: '1000000',
    COLLECTOR_MAX_APP_SECONDS: '60',
    COLLECTOR_MAX_BODY_SECONDS: '600',
  };
  service = await ProductProcess.start(
    ['serve'],
    { DATA_DIR: directory, ...ENVIRONMENT, ...env },
    { nodeOptions: NODE_OPTIONS },
  );
});

afterAll(async () => {
  await service.stop();
  template.remove();
  rmSync(directory, { recursive: true, force: true });
  const { cores, load } = thisMachine();
  const head = ['Body', 'wire KB', 'status', 's', 'processor s', 'block ms', 'reads ms', 'send ms', 'MiB'];
  process.stdout.write(
    `${table(head, rows)}\nreads of another team beside: p50 / p99, and its body; ${cores} cores, load ${load}\n`,
  );
});

describe('another team is served, and the process lives within its memory, beside', () => {
  it.each(BODIES.map((make, index) => [index + 1, make] as const))('body %d', async (number, make) => {
    const body = make();
    resetPeak(service.pid);
    await readLongestBlock();
    const [startedAt, processorBefore] = [performance.now(), service.processorSeconds];
    const isAnswered = new AbortController();
    const [response, accepted, reads] = await Promise.all([
      (body.way.startsWith(GRPC_WAY) ? sendOverGrpc(body) : send(body)).finally(() => {
        isAnswered.abort();
      }),
      sendCount(neighbour!),
      readUntil(isAnswered.signal, neighbour!),
    ]);
    const seconds = (performance.now() - startedAt) / 1000;
    const processorSeconds = service.processorSeconds - processorBefore;
    const blockMs = await readLongestBlock();
    const { peakMb } = service.memory;
    const times = reads.map(({ ms }) => ms);
    rows.push([
      `${number} ${body.name}`,
      figure(body.body.length / 1000),
      String(response.status),
      figure(seconds),
      figure(processorSeconds),
      figure(blockMs),
      `${figure(quantile(times, 0.5))} / ${figure(quantile(times, 0.99))}`,
      figure(accepted.ms),
      figure(peakMb),
    ]);
    expect(service.isRunning).toBe(true);
    expect([body.name, response.status, response.text]).toEqual([
      body.name,
      body.status,
      expect.stringMatching(body.says ?? /^/),
    ]);
    expect([accepted.status, accepted.text]).toEqual([202, expect.anything()]);
    expect(reads.filter(({ status }) => status !== 200)).toEqual([]);
    expect(peakMb).toBeLessThan(MEMORY_MIB);
    expect(blockMs).toBeLessThan(BLOCK_MS);
  });

  it('all of them, and its counts are there', async () => {
    const { text } = await read(neighbour!, 'traffic');
    const { data } = JSON.parse(text) as PageBody<{ requests: number }>;
    expect(data.reduce((sum, { requests }) => sum + requests, 0)).toBe(rows.length);
  });
});

/** What a call of gRPC ends with, as the status of HTTP. */
const STATUSES: Partial<Record<GrpcAnswer['code'], number>> = {
  OK: 200,
  INVALID_ARGUMENT: 400,
  RESOURCE_EXHAUSTED: 413,
};

/** Sends a packed body as the message of a call, which the client packs again. */
async function sendOverGrpc({ way, body }: HostileBody): Promise<Pick<Sample, 'status' | 'text'>> {
  const sender = new GrpcSender(service.grpcAddress, attacker!.token);
  const message = gunzipSync(body);
  try {
    for (;;) {
      const answer = await sender.send(way.slice(GRPC_WAY.length) as Signal, message, { gzip: true });
      const delay = readRetryDelay(answer);
      if (delay === undefined)
        return { status: STATUSES[answer.code] ?? 0, text: `${answer.details} ${answer.bytes.toString()}` };
      await pause(delay * 1000);
    }
  } finally {
    sender.close();
  }
}

async function send({ way, headers, body }: HostileBody): Promise<Sample> {
  const { clientId, token } = attacker!;
  const isHub = !way.startsWith('v1/');
  const url = isHub
    ? `${service.collectorUrl}/v2/${clientId}/prod/${way}${way === 'log' ? `?uuid=${randomUUID()}` : ''}`
    : `${service.collectorUrl}/${way}`;
  const authorization: Record<string, string> = isHub ? {} : { authorization: `Bearer ${token}` };
  for (;;) {
    const sample = await request(url, { method: 'POST', headers: { ...authorization, ...headers }, body });
    // After a body that took long, the next one of its app waits, and can be told to come again.
    if (sample.status !== 429) return sample;
    await pause(Number(sample.headers.get('retry-after')) * 1000);
  }
}

/** Counts one request. */
const sendCount = ({ clientId }: Team): Promise<Sample> =>
  request(`${service.collectorUrl}/v2/${clientId}/prod/sync`, {
    method: 'POST',
    body: JSON.stringify(buildSync()),
  });

const read = ({ key, appId }: Team, resource: string): Promise<Sample> =>
  request(`${service.apiUrl}/v1/apps/${appId}/${resource}`, { headers: { 'api-key': key } });

/** One read at a time, and at least one. */
async function readUntil(signal: AbortSignal, team: Team): Promise<Sample[]> {
  const samples = [];
  do samples.push(await read(team, 'request-logs?limit=100'));
  while (!signal.aborted);
  return samples;
}

/** The longest time in milliseconds for which the event loop stood still since the last call. */
async function readLongestBlock(): Promise<number> {
  const { text } = await request(`${service.metricsUrl}/metrics`);
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1]) * 1000;
}

/** The peak of a process begins anew (Linux). */
function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
