import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { DEFAULT_LIMITS, type NameLimits } from '../../src/config/name-limits.js';
import { thisMachine } from '../bench/machine.js';
import { figure, table } from '../bench/report/markdown.js';
import { Child } from '../bench/rpc.js';
import { eventually } from '../setup/eventually.js';
import { ProductProcess } from '../setup/product-process.js';
import { copyStore } from '../setup/schema.js';
import type { PageBody } from '../setup/tenant.js';
import type { Attacker } from './attacker.js';
import { request } from './http.js';
import {
  MIB,
  consumersWith,
  countsWith,
  logWith,
  packed,
  prepared,
  startupWith,
  syncWith,
} from './messages.js';
import type { Latency } from './neighbours.js';
import type { NeighbourHandlers } from './neighbours.process.js';
import { RawConnection } from './raw-connection.js';
import { Template } from './template.js';
import { MEMORY_MIB, type Outcome, TestBed } from './test-bed.js';

/**
 * `LIMITS_LONG=1`, as `npm run test:limits` sets it: attacks as they were measured, and not only as large as
 * shows a failure.
 */
const IS_LONG = process.env.LIMITS_LONG === '1';
const IMPORT_MEMORY_MIB = 700;
/** Only in the long form, which runs alone on a machine. */
const RESPONSE_MS = 10_000;
/** Less than the collector takes of a body, with what stands around the list in it. */
const MESSAGE_BYTES = (IS_LONG ? 7.8 : 3) * MIB;

const SMALL_LIMITS: NameLimits = {
  endpoints: 5_000,
  consumers: 10_000,
  consumerGroups: 500,
  environments: 20,
};

/** Variables of the service, and headers of each request of the neighbours. */
interface Setting {
  env?: NodeJS.ProcessEnv;
  headers?: Record<string, string>;
}

/**
 * In the short form the tests of one setting share a service, because a start takes longer than most attacks.
 */
const ADDRESS = '203.0.113.9';
const FOR_GUESSES: Setting = { env: { TRUST_PROXY: '1' }, headers: { 'x-forwarded-for': ADDRESS } };
const FOR_BODIES: Setting = {};

type Attack = (attacker: Attacker, testBed: TestBed) => Promise<void>;

jest.setTimeout(IS_LONG ? 900_000 : 300_000);

const template = new Template();
const outcomes: Outcome[] = [];
const imports: string[] = [];
let neighbours: Child<NeighbourHandlers>;
let running: { setting: Setting; testBed: TestBed } | undefined;

beforeAll(async () => {
  await template.fill(3);
  neighbours = await Child.start('../limits/neighbours.process.ts', {
    env: { NODE_OPTIONS: '--import ./test/setup/typescript.js' },
    log: join(template.directory, 'neighbours.log'),
  });
});

afterAll(async () => {
  await running?.testBed.stop();
  await neighbours.stop();
  template.remove();
  report();
});

describe('two teams are served, and what they sent is there, beside', () => {
  it('no attacker', () =>
    run(FOR_GUESSES, async (testBed) => {
      await attack(testBed, 'none', () => pause(IS_LONG ? 2_000 : 500));
    }));

  it('guesses of keys and client IDs, from their own address and thousands of others', async () => {
    await run(FOR_GUESSES, (testBed) =>
      attack(testBed, 'guesses', async (attacker) => {
        const guesses = IS_LONG ? 120_000 : 500;
        const sources = Array.from({ length: guesses }, (_, n) =>
          n % 4 === 0 ? ADDRESS : `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`,
        );
        await inParallel(32, sources, async (source, n) => {
          attacker.note(await (n % 2 === 0 ? guessKey : guessClientId)(attacker, source));
        });
        expect(Object.keys(attacker.responses)).toEqual(['401', '404', '429']);
      }),
    );
  });

  it('a connection with a thousand requests at once', () =>
    run(FOR_GUESSES, (testBed) =>
      attack(testBed, 'pipelined requests', async (attacker) => {
        const { team, service } = attacker;
        const resources = ['traffic', 'request-logs', 'endpoints', 'consumers'];
        const reading = await RawConnection.open(service.apiUrl);
        for (let n = 0; n < 1_000; n++)
          reading.write(requestText(`/v1/apps/${team.appId}/${resources[n % 4]}`, `Api-Key: ${team.key}`));
        await eventually(() => reading.statuses.length === 1_000, 120_000);
        attacker.noteAll(reading);
        reading.close();
        const sending = await RawConnection.open(service.collectorUrl);
        const body = ' '.repeat(MIB);
        for (let n = 0; n < 50; n++) sending.write(headOfSync(attacker, body.length) + body);
        await eventually(() => sending.statuses.length === 50, 120_000);
        attacker.noteAll(sending);
      }),
    ));

  it('more connections than a port has', () =>
    run({}, (testBed) =>
      attack(testBed, 'connections', async (attacker) => {
        const { apiUrl, collectorUrl } = attacker.service;
        for (const url of IS_LONG ? [apiUrl, collectorUrl] : [collectorUrl]) {
          const silent = await RawConnection.openAll(url, 5_200);
          for (let n = 0; n < 20; n++) {
            const headers = { connection: 'close' };
            expect((await request(`${url}/health/live`, { headers })).status).toBe(200);
          }
          const open = silent.filter(({ isOpen }) => isOpen);
          expect(open.length).toBeLessThanOrEqual(5_000);
          expect(open.length).toBeGreaterThan(4_500);
          for (const connection of silent) connection.close();
        }
      }),
    ));

  it('an app that names a million endpoints, consumers, groups and environments, also after a restart', () => {
    const limits = IS_LONG ? DEFAULT_LIMITS : SMALL_LIMITS;
    const env = {
      MAX_ENDPOINTS_PER_APP: String(limits.endpoints),
      MAX_CONSUMERS_PER_APP: String(limits.consumers),
      MAX_CONSUMER_GROUPS_PER_APP: String(limits.consumerGroups),
      MAX_ENVIRONMENTS_PER_APP: String(limits.environments),
    };
    return run({ env }, async (testBed) => {
      // Of each list 20,000 entries are looked at.
      const messages = [
        ...Array.from({ length: IS_LONG ? 2 : 1 }, (_, n) => startupWith(n * 225_000, 225_000)),
        ...Array.from({ length: IS_LONG ? 6 : 1 }, (_, n) => consumersWith(n * 180_000, 180_000)),
        countsWith(600_000, 35_000),
      ];
      await attack(testBed, 'a million names', async (attacker) => {
        const statuses = await attacker.deliverAll(messages);
        expect(statuses.map((all) => all.at(-1))).toEqual(messages.map(() => 202));
        const names = Array.from({ length: limits.environments + 20 }, (_, n) => `env-${n}`);
        await Promise.all(names.map((name) => attacker.deliver(startupWith(0, 1), name)));
      });
      await testBed.restart();
      await attack(testBed, 'the same after a restart', async (attacker) => {
        // One more each: the name under which all beyond the limit are counted.
        expect(await countAll(attacker, 'endpoints')).toBe(limits.endpoints + 1);
        expect(await countAll(attacker, 'consumers')).toBe(limits.consumers + 1);
        expect(await attacker.deliverAll([startupWith(0, 10), consumersWith(0, 10)])).toEqual([[202], [202]]);
      });
    });
  });

  it('an app whose messages are wrong entries, blanks and brackets', () =>
    run(FOR_BODIES, (testBed) =>
      attack(testBed, 'wrong entries', async (attacker) => {
        const fill = (text: string, bytes = MESSAGE_BYTES) => text.repeat(bytes / text.length);
        await attacker.deliverAll([
          syncWith({ requests: `${fill('1,')}1` }),
          syncWith({ requests: `${fill('{},')}{}` }),
          syncWith({ requests: `${fill('{},', 2 * MIB)}{}` }),
          syncWith({ requests: `${fill('{"method":1,"path":2},')}{}` }),
          syncWith({ requests: fill('[', MIB) + fill(']', MIB) }),
          syncWith({ requests: `${fill('{"a":', MIB)}1${'}'.repeat(MIB / 5)}` }),
          syncWith({ consumers: `${fill('{"identifier":""},')}{}` }),
          prepared('startup', fill(' ')),
          packed(fill('\n')),
          packed(fill('{}\n')),
          packed(`${fill('[', 7 * MIB)}\n`),
          packed(fill(`${'['.repeat(3_000)}\n`, 60 * MIB)),
        ]);
      }),
    ));

  it('an app whose log files unpack to a thousand times as much', () =>
    run(FOR_BODIES, (testBed) =>
      attack(testBed, 'gzip bombs', async (attacker) => {
        const bombs = [
          packed('\n'.repeat(66 * MIB)),
          packed('{}\n'.repeat(20 * MIB)),
          packed('x'.repeat(66 * MIB)),
          packed(Buffer.alloc((IS_LONG ? 1_000 : 100) * MIB)),
          packed(`{"a":"${'x'.repeat(3_300)}"}\n`.repeat(19_900)),
        ];
        await attacker.deliverAll(Array.from({ length: IS_LONG ? 5 : 1 }, () => bombs).flat());
      }),
    ));

  it('connections whose bodies stall or trickle', () =>
    run(FOR_BODIES, (testBed) =>
      attack(testBed, 'stalled bodies', async (attacker) => {
        const { collectorUrl } = attacker.service;
        const part = Buffer.alloc(4.4 * MIB, ' ');
        const stalled = await RawConnection.openAll(collectorUrl, IS_LONG ? 292 : 30);
        for (const connection of stalled) {
          connection.write(headOfSync(attacker, part.length + 1));
          connection.write(part);
        }
        const slow = await RawConnection.openAll(collectorUrl, 20);
        for (const connection of slow) {
          connection.write(headOfSync(attacker, 100_000));
          const trickle = setInterval(() => {
            connection.write(' '.repeat(500));
          }, 200);
          void connection.closed.then(() => {
            clearInterval(trickle);
          });
        }
        for (const connection of [...stalled, ...slow]) {
          await eventually(() => connection.statuses.length > 0, 120_000);
          attacker.noteAll(connection);
          connection.close();
        }
        expect(slow.map(({ statuses }) => statuses)).toEqual(slow.map(() => [408]));
        expect(Object.keys(attacker.responses).sort()).toEqual(['408', '429']);
      }),
    ));

  it('an app whose log files are large; all of them get in', () =>
    run({}, (testBed) =>
      attack(testBed, 'large log files', async (attacker) => {
        // 5 MB unpacked each, and one of 30 MB.
        const count = IS_LONG ? 14 : 3;
        const files = [...Array.from({ length: count }, () => logWith(190, 10_000)), logWith(1_120, 10_000)];
        const statuses = await attacker.deliverAll(files);
        expect(statuses.map((all) => all.at(-1))).toEqual(files.map(() => 202));
        expect(await countAll(attacker, 'request-logs')).toBe(count * 190 + 1_120);
        const more = Array.from({ length: IS_LONG ? 50 : 10 }, () => attacker.send(logWith(190, 10_000)));
        await Promise.all(more);
        expect(Object.keys(attacker.responses)).not.toContain('503');
      }),
    ));

  it('ten readers that do not read what is long', () =>
    run({}, (testBed) =>
      attack(testBed, 'slow readers', async (attacker) => {
        await attacker.deliverAll([startupWith(0, 5_000, 900), startupWith(5_000, 5_000, 900)]);
        await attacker.deliverAll([consumersWith(0, 2_000)]);
        const paths = [
          ...Array<string>(8).fill('endpoints'),
          ...Array<string>(2).fill('consumers?limit=1000'),
        ];
        const sizes = await Promise.all(paths.map((path) => readLate(attacker, path, 2_000)));
        expect(sizes).toEqual(paths.map((path) => (path === 'endpoints' ? 10_000 : 1_000)));
        expect(attacker.responses).toEqual({ 200: 10, 202: 3 });
      }),
    ));

  it('an app that sends thirty messages at once, of every kind, as large as may be', () =>
    run({}, (testBed) => {
      const messages = [
        startupWith(0, 20_000, 350),
        countsWith(0, 20_000),
        consumersWith(0, 20_000),
        logWith(20_000, 500),
        logWith(600, 40_000),
        syncWith({ requests: `${'{},'.repeat(700_000)}{}` }),
        packed('\n'.repeat(66 * MIB)),
      ];
      return attack(testBed, 'thirty at once', async (attacker) => {
        const end = performance.now() + (IS_LONG ? 60_000 : 2_000);
        const senders = Array.from({ length: 30 }, async (_, sender) => {
          for (let n = sender; performance.now() < end; n++) {
            const { status } = await attacker.send(messages[n % messages.length]!);
            if (status === 429) await pause(100);
          }
        });
        await Promise.all(senders);
        expect(Object.keys(attacker.responses)).not.toContain('503');
      });
    }));
});

describe('import', () => {
  it(`of lines with two bodies of 44 KB stays below ${IMPORT_MEMORY_MIB} MiB`, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'limits-'));
    try {
      copyStore(template.directory, directory);
      const lines = IS_LONG ? 4_500 : 500;
      const file = join(directory, 'lines.ndjson');
      await writeLargeLines(file, lines);
      const args = ['import', file, '--app', String(template.teams[0]?.appId)];
      const command = await ProductProcess.begin(args, { DATA_DIR: directory });
      let peakMiB = 0;
      // It cannot be read after the end.
      const watching = setInterval(() => {
        peakMiB = Math.max(peakMiB, Math.round(command.memory.peakMb) || 0);
      }, 20);
      const [code] = await command.ended;
      clearInterval(watching);
      if (code !== 0) throw new Error(command.written);
      imports.push(`import of ${lines} lines with two bodies of 44 KB: ${peakMiB} MiB at most`);
      expect(JSON.parse(command.out[0] ?? '')).toMatchObject({
        read: lines,
        imported: lines,
        duplicates: 0,
        rejected: 0,
        logged: lines,
      });
      expect(peakMiB).toBeLessThan(IMPORT_MEMORY_MIB);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

/**
 * Runs a test on a service of its own; in the short form on the one that runs, if that has the same setting.
 */
async function run(setting: Setting, test: (testBed: TestBed) => Promise<void>): Promise<void> {
  if (IS_LONG || running?.setting !== setting) {
    await running?.testBed.stop();
    running = undefined;
    running = { setting, testBed: await TestBed.start(template, neighbours, setting) };
  }
  await test(running.testBed);
}

/** Makes an attack and checks what it did to the service and to the neighbours. */
async function attack(testBed: TestBed, name: string, make: Attack): Promise<void> {
  const outcome = await testBed.measure(name, (attacker) => make(attacker, testBed));
  outcomes.push(outcome);
  expect(testBed.service.isRunning).toBe(true);
  expect(outcome.refusals).toEqual({});
  expect(outcome.lostCounts).toBe(0);
  for (const { read, acknowledged } of await neighbours.call('readTotals'))
    expect(read).toEqual(acknowledged);
  expect(Object.keys(outcome.responses)).not.toContain('0');
  expect(outcome.peakMiB).toBeLessThan(MEMORY_MIB);
  if (IS_LONG) expect(outcome.slowestResponseMs).toBeLessThan(RESPONSE_MS);
}

function report(): void {
  const ms = ({ p50, p99, max }: Latency) => [p50, p99, max].map((value) => figure(value)).join(' / ');
  const rows = outcomes.map((outcome) => [
    outcome.attack,
    figure(outcome.seconds),
    figure(outcome.processorSeconds),
    ms(outcome.reads),
    ms(outcome.messages),
    figure(outcome.liveMaxMs),
    figure(outcome.peakMiB),
    Object.entries(outcome.responses)
      .map(([status, count]) => `${count} × ${status}`)
      .join(', '),
    figure(outcome.slowestResponseMs),
  ]);
  const head = [
    'Attack',
    's',
    'CPU s',
    'reads ms',
    'messages ms',
    'live ms',
    'MiB',
    'responses',
    'slowest ms',
  ];
  const { cores, load } = thisMachine();
  process.stdout.write(
    `${table(head, rows)}\n${imports.join('\n')}\n` +
      `p50 / p99 / max of two teams beside; ${cores} cores, load ${load}${IS_LONG ? '' : ', short form'}\n`,
  );
}

/** How many items a list has, on all of its pages. */
async function countAll(attacker: Attacker, resource: string): Promise<number> {
  let count = 0;
  let token = '';
  do {
    const page = await attacker.read<PageBody<object>>(`${resource}?limit=1000${token}`);
    count += page.data.length;
    token = page.next_token === undefined ? '' : `&next_token=${encodeURIComponent(page.next_token)}`;
  } while (token !== '');
  return count;
}

/** Reads a list, but takes nothing of it for `afterMs`; resolves to the number of its items. */
async function readLate(attacker: Attacker, path: string, afterMs: number): Promise<number> {
  const { team, service } = attacker;
  const startedAt = performance.now();
  const url = `${service.apiUrl}/v1/apps/${team.appId}/${path}`;
  const outgoing = get(url, { agent: false, headers: { 'api-key': team.key } });
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  incoming.pause();
  await pause(afterMs);
  const body = await text(incoming);
  attacker.note({ status: incoming.statusCode ?? 0, ms: performance.now() - startedAt });
  return (JSON.parse(body) as PageBody<object>).data.length;
}

/** Does the work for each item, `atOnce` items at a time. */
async function inParallel<T>(
  atOnce: number,
  items: readonly T[],
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const entries = items.entries();
  const workers = Array.from({ length: atOnce }, async () => {
    for (const [index, item] of entries) await work(item, index);
  });
  await Promise.all(workers);
}

function guessKey({ service }: Attacker, source: string) {
  const key = `${randomBytes(4).toString('hex').slice(1)}.${randomBytes(16).toString('hex')}`;
  return request(`${service.apiUrl}/v1/team`, { headers: { 'api-key': key, 'x-forwarded-for': source } });
}

function guessClientId({ service }: Attacker, source: string) {
  const url = `${service.collectorUrl}/v2/${randomUUID()}/prod/sync`;
  return request(url, { method: 'POST', headers: { 'x-forwarded-for': source }, body: '{}' });
}

function headOfSync({ team }: Attacker, length: number): string {
  return `POST /v2/${team.clientId}/prod/sync HTTP/1.1\r\nHost: test\r\nContent-Length: ${length}\r\n\r\n`;
}

function requestText(path: string, headers: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: test\r\n${headers}\r\n\r\n`;
}

async function writeLargeLines(file: string, lines: number): Promise<void> {
  const out = createWriteStream(file);
  for (let n = 0; n < lines; n++) {
    const body = JSON.stringify({ text: randomBytes(22_000).toString('hex') });
    const line = JSON.stringify({
      request_uuid: randomUUID(),
      timestamp: new Date(Date.now() - 60_000 - n).toISOString(),
      method: 'POST',
      url: 'https://api.example.com/things',
      path: '/things',
      status_code: 200,
      response_time_ms: 1,
      request_body_json: body,
      response_body_json: body,
    });
    if (!out.write(`${line}\n`)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
}
