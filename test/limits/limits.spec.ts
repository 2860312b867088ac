import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, cpSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Child } from '../bench/rpc.js';
import { readPeakMiB } from '../collector/setup/service-process.js';
import { eventually } from '../setup/eventually.js';
import type { Attacker, Prepared } from './attacker.js';
import { consumersWith, countsWith, logWith, packed, prepare, startupWith, syncWith } from './messages.js';
import type { NeighbourHandlers } from './neighbours.process.js';
import { RawConnection } from './sockets.js';
import { MEMORY_MIB, type Outcome, Stand, startNeighbours } from './stand.js';
import { Template } from './template.js';

const IS_LONG = process.env.LIMITS_LONG === '1';
const MIB = 1024 * 1024;
const template = new Template();
const outcomes: Outcome[] = [];

let neighbours: Child<NeighbourHandlers>;

beforeAll(async () => {
  await template.fill(3);
  neighbours = await startNeighbours();
}, 60_000);
afterAll(async () => {
  await neighbours.stop();
  template.remove();
  process.stdout.write(outcomes.map((o) => JSON.stringify(o)).join('\n') + '\n');
});

async function withStand(
  attack: string,
  make: (stand: Stand) => Promise<void>,
  env: NodeJS.ProcessEnv = {},
  headers: Record<string, string> = {},
): Promise<Outcome> {
  const stand = await Stand.start(template, neighbours, env);
  try {
    const outcome = await stand.measure(attack, make, headers);
    process.stdout.write(JSON.stringify(outcome) + '\n');
    outcomes.push(outcome);
    expect(outcome.refusals).toEqual({});
    expect(outcome.responses).not.toHaveProperty('0');
    expect(outcome.peakMiB).toBeLessThan(MEMORY_MIB);
    return outcome;
  } finally {
    await stand.stop();
  }
}

const deliverAll = (attacker: Attacker, messages: readonly Prepared[]) =>
  Promise.all(messages.map((message) => attacker.deliver(message)));

describe('beside an app that', () => {
  it('does nothing', async () => {
    await withStand('none', async () => {
      await new Promise((r) => setTimeout(r, 3000));
    });
  });

  it('names a million', async () => {
    await withStand('names', async (stand) => {
      const { attacker } = stand;
      const messages = [
        startupWith(0, 225_000),
        startupWith(225_000, 225_000),
        ...Array.from({ length: 6 }, (_, n) => consumersWith(n * 100_000, 100_000)),
        countsWith(0, 35_000),
        countsWith(35_000, 35_000),
      ];
      await deliverAll(attacker, messages);
      const environments = Array.from({ length: 150 }, (_, n) => `env-${n}`);
      await Promise.all(environments.map((env) => attacker.deliver(startupWith(0, 1), env)));
    });
  });

  it('wrong entries', async () => {
    await withStand('wrong entries', async ({ attacker }) => {
      const bytes = 7.8 * MIB;
      const messages = [
        syncWith({ requests: '1,'.repeat(bytes / 2) + '1' }),
        syncWith({ requests: '{},'.repeat(bytes / 3) + '{}' }),
        syncWith({ requests: '{},'.repeat(700_000) + '{}' }),
        syncWith({ requests: '{"method":1,"path":2},'.repeat(bytes / 23) + '{}' }),
        syncWith({ requests: '['.repeat(bytes / 2) + ']'.repeat(bytes / 2) }),
        syncWith({
          requests: '[0],'.repeat(20_000) + '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000),
        }),
        prepare('sync', ' '.repeat(bytes)),
        packed('\n'.repeat(60 * MIB)),
        packed('['.repeat(7 * MIB) + '\n'),
        packed(('['.repeat(3000) + '\n').repeat(20_000)),
        packed('{}\n'.repeat(20 * MIB)),
        packed('1\n'.repeat(30 * MIB)),
      ];
      await deliverAll(attacker, messages);
    });
  });

  it('bombs', async () => {
    await withStand('bombs', async ({ attacker }) => {
      const five = (message: Prepared) => Array.from({ length: 5 }, () => message);
      const messages = [
        ...five(packed('\n'.repeat(66 * MIB))),
        ...five(packed(Buffer.alloc(200 * MIB))),
        ...five(packed('x'.repeat(65 * MIB))),
        ...five(packed((JSON.stringify({ a: 'x'.repeat(3300) }) + '\n').repeat(19_900))),
        ...five(packed('{}\n'.repeat(21 * MIB))),
      ];
      await deliverAll(attacker, messages);
    });
  });

  it('large files', async () => {
    await withStand('large files', async ({ attacker }) => {
      const files = Array.from({ length: 14 }, () => logWith(190, 10_000));
      const statuses = await deliverAll(attacker, [...files, logWith(1_120, 10_000)]);
      expect(statuses.map((all) => all.at(-1))).toEqual(statuses.map(() => 202));
      expect(statuses.flat()).not.toContain(503);
      const fifty = Array.from({ length: 50 }, () => logWith(190, 10_000));
      const once = await Promise.all(fifty.map((message) => attacker.send(message)));
      expect(once.map(({ status }) => status)).not.toContain(503);
    });
  });

  it('stalls', async () => {
    await withStand('stalls', async (stand) => {
      const { attacker, service } = stand;
      const part = Buffer.alloc(4.4 * MIB, ' ');
      const head = (length: number) =>
        `POST /v2/${attacker.team.clientId}/prod/sync HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;
      const connections: RawConnection[] = [];
      for (let n = 0; n < (IS_LONG ? 292 : 60); n++) {
        const connection = await RawConnection.open(service.collectorUrl);
        connection.write(head(part.length + 1));
        connection.write(part);
        connections.push(connection);
      }
      for (let n = 0; n < 20; n++) {
        const connection = await RawConnection.open(service.collectorUrl);
        connection.write(head(100_000));
        const drip = setInterval(() => connection.write(' '.repeat(500)), 200);
        void connection.closed.then(() => clearInterval(drip));
        connections.push(connection);
      }
      await Promise.all(
        connections.map(async (connection) => {
          await eventually(() => connection.statuses.length > 0, 60_000);
          attacker.note({ status: connection.statuses[0] ?? 0, ms: connection.ageMs });
        }),
      );
      for (const connection of connections) connection.close();
    });
  });

  it('guesses', async () => {
    const own = { 'x-forwarded-for': '203.0.113.9' };
    await withStand(
      'guesses',
      async ({ attacker, service }) => {
        const addresses = IS_LONG ? 120_000 : 3_000;
        const senders = 32;
        let next = 0;
        const guess = async () => {
          for (let n = next++; n < addresses; n = next++) {
            const address =
              n % 3 === 0 ? own['x-forwarded-for'] : `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
            const headers = { 'x-forwarded-for': address };
            if (n % 2 === 0)
              await attacker.read('/v1/team', {
                ...headers,
                'api-key': `${randomBytes(4).toString('hex').slice(0, 7)}.${randomBytes(16).toString('hex')}`,
              });
            else
              attacker.note(
                await fetch(`${service.collectorUrl}/v2/${randomUUID()}/prod/sync`, {
                  method: 'POST',
                  headers,
                  body: '{}',
                }).then(async (r) => {
                  await r.text();
                  return { status: r.status, ms: 0 };
                }),
              );
          }
        };
        await Promise.all(Array.from({ length: senders }, guess));
      },
      { TRUST_PROXY: '1' },
      own,
    );
  });

  it('pipelines', async () => {
    await withStand('pipelines', async ({ attacker, service }) => {
      const { key, appId, clientId } = attacker.team;
      const connection = await RawConnection.open(service.apiUrl);
      const paths = ['traffic', 'request-logs', 'endpoints'];
      for (let n = 0; n < 1_000; n++)
        connection.write(
          `GET /v1/apps/${appId}/${paths[n % 3]} HTTP/1.1\r\nHost: x\r\nApi-Key: ${key}\r\n\r\n`,
        );
      await eventually(() => connection.statuses.length >= 1_000, 60_000);
      for (const status of connection.statuses) attacker.note({ status, ms: connection.ageMs });
      connection.close();
      const many = await RawConnection.open(service.collectorUrl);
      const body = ' '.repeat(MIB);
      for (let n = 0; n < 50; n++)
        many.write(
          `POST /v2/${clientId}/prod/sync HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        );
      await eventually(() => many.statuses.length >= 1, 60_000);
      many.close();
    });
  });

  it('connections', async () => {
    await withStand('connections', async ({ service }) => {
      const open = async (url: string) => {
        const all: RawConnection[] = [];
        for (let n = 0; n < 5_200; n += 100)
          all.push(...(await Promise.all(Array.from({ length: 100 }, () => RawConnection.open(url)))));
        return all;
      };
      const all = [...(await open(service.collectorUrl)), ...(await open(service.apiUrl))];
      await pause(3_000);
      process.stdout.write(`open ${all.filter((c) => c.isOpen).length}\n`);
      for (const one of all) one.close();
    });
  });

  it('slow readers', async () => {
    await withStand('slow readers', async ({ attacker, service }) => {
      const { key, appId } = attacker.team;
      await attacker.deliver(startupWith(0, 10_000, 850));
      const readers = await Promise.all(Array.from({ length: 10 }, () => RawConnection.open(service.apiUrl)));
      for (const reader of readers) {
        reader.pause();
        reader.write(
          `GET /v1/apps/${appId}/endpoints HTTP/1.1\r\nHost: x\r\nConnection: close\r\nApi-Key: ${key}\r\n\r\n`,
        );
      }
      await pause(2_000);
      for (const reader of readers) {
        reader.resume();
        await reader.closed;
        attacker.note({ status: reader.statuses[0] ?? 0, ms: reader.ageMs });
      }
    });
  });

  it('flood', async () => {
    await withStand('flood', async ({ attacker }) => {
      const kinds = [
        () => startupWith(0, 200_000),
        () => countsWith(0, 30_000),
        () => consumersWith(0, 100_000),
        () => logWith(2_000, 10_000),
        () => logWith(20_000, 10),
        () => syncWith({ requests: '{},'.repeat(700_000) + '{}' }),
        () => packed('\n'.repeat(66 * MIB)),
      ];
      const made = kinds.map((make) => make());
      const until = performance.now() + (IS_LONG ? 60_000 : 5_000);
      await Promise.all(
        Array.from({ length: 30 }, async (_, n) => {
          for (let at = n; performance.now() < until; at++) {
            const { status } = await attacker.send(made[at % made.length]!);
            if (status === 429 || status === 503) await pause(100);
          }
        }),
      );
    });
  });
});

describe('import', () => {
  it('large lines', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'limits-'));
    cpSync(template.directory, directory, { recursive: true });
    const file = join(directory, 'lines.ndjson');
    const out = createWriteStream(file);
    const lines = IS_LONG ? 4_500 : 1_200;
    for (let n = 0; n < lines; n++) {
      const body = Buffer.from(randomBytes(22_000).toString('hex')).toString();
      const line = JSON.stringify({
        request_uuid: randomUUID(),
        timestamp: new Date(Date.now() - n).toISOString(),
        method: 'POST',
        url: 'https://example.com/a',
        path: '/a',
        status_code: 200,
        request_body_json: { a: body },
        response_body_json: { a: body },
      });
      if (!out.write(line + '\n')) await once(out, 'drain');
    }
    out.end();
    await once(out, 'finish');
    const child = spawn(
      process.execPath,
      ['dist/cli.js', 'import', file, '--app', String(template.teams[0]!.appId)],
      {
        env: { PATH: process.env.PATH, DATA_DIR: directory },
        stdio: ['ignore', 'inherit', 'inherit'],
      },
    );
    let peak = 0;
    const watch = setInterval(() => {
      try {
        peak = Math.max(peak, readPeakMiB(child.pid!) || 0);
      } catch {
        //
      }
    }, 20);
    const [code] = await once(child, 'exit');
    clearInterval(watch);
    process.stdout.write(`import ${code} peak ${peak}\n`);
    rmSync(directory, { recursive: true, force: true });
  });
});
