import { randomUUID } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../setup/eventually.js';
import { requireSpace } from '../../src/ops/backup/backup-directory.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { post } from '../collector/setup/post.js';
import { buildCount, buildSync } from '../collector/setup/messages.js';
import { type Prepared, prepare } from '../setup/data-directory.js';
import { type Ended, ProductProcess } from '../setup/product-process.js';
import { copyStore } from '../setup/schema.js';
import { describeEmbedded } from '../setup/store.js';

const SENDERS = 10;
const LINES = 3_000;
const KILLS = Number(process.env.CRASH_KILLS ?? 2);
/** Requests that `prepare` writes. */
const PREPARED = 20;

describeEmbedded('backup and restore', () => {
  const place = mkdtempSync(join(tmpdir(), 'backup-'));
  const at = (name: string) => join(place, name);
  const env = { DATA_DIR: at('data'), COLLECTOR_RATE_LIMIT_PER_MINUTE: '1000000', LOG_LEVEL: 'fatal' };
  let prepared: Prepared;

  beforeAll(async () => {
    prepared = await prepare(env, PREPARED);
  });

  afterAll(async () => {
    await ProductProcess.endAll();
    rmSync(place, { recursive: true });
  });

  const run = (args: string[], dataDir = env.DATA_DIR, options?: { killAfterMs?: number }) =>
    ProductProcess.run(args, { ...env, DATA_DIR: dataDir }, options);
  const complete = async (args: string[], dataDir?: string) => {
    const { code, out, err } = await run(args, dataDir);
    expect([code, code === 0 ? '' : err.join('\n')]).toEqual([0, '']);
    return JSON.parse(out[0] ?? 'null') as Record<string, unknown>;
  };
  const readError = ({ code, err }: Ended) => [
    code,
    err.filter((line) => line.startsWith('error: ')).join('\n'),
  ];
  const countTraffic = async (service: ProductProcess) => {
    const since = new Date(Date.now() - 86_400_000 * 2).toISOString();
    const response = await fetch(
      `${service.apiUrl}/v1/apps/${prepared.appId}/traffic?period=day&since=${since}`,
      { headers: { 'Api-Key': prepared.key } },
    );
    const { data } = (await response.json()) as { data: { requests: number }[] };
    return data.reduce((sum, { requests }) => sum + requests, 0);
  };
  /** A store with the prepared requests in a new data directory. */
  const copySmall = (name: string) => {
    copyStore(at('small'), at(name));
    return at(name);
  };

  it('restores each message once that was acknowledged before, and counts each message once that is sent again', async () => {
    const service = await ProductProcess.start(['serve'], env);
    const file = at('requests.ndjson');
    writeFileSync(file, buildLines());
    const acknowledged: { message: object; requests: number }[] = [];
    let isDone = false;
    const sendOn = async (index: number) => {
      for (let n = 0; !isDone; n++) {
        const requests = 1 + ((index + n) % 97);
        const message = buildSync({
          requests: [buildCount({ request_count: requests, response_times: { '0': requests } })],
        });
        const { status } = await post(
          `${service.collectorUrl}/v2/${prepared.clientId}/prod/sync`,
          JSON.stringify(message),
        );
        expect(status).toBe(202);
        acknowledged.push({ message, requests });
      }
    };
    const senders = Array.from({ length: SENDERS }, (_, index) => sendOn(index));
    const importing = run(['import', file, '--app', String(prepared.appId)]);
    await eventually(() => acknowledged.length > 200, 60_000);
    const before = sum(acknowledged);
    const backup = await complete(['backup', at('serving')]);
    expect(backup).toMatchObject({ backup: at('serving') });
    isDone = true;
    await Promise.all([...senders, importing]);
    expect(await countTraffic(service)).toBe(PREPARED + LINES + sum(acknowledged));
    await service.stop();

    await complete(['restore', at('serving')], at('restored'));
    const restored = await ProductProcess.start(['serve'], {
      ...env,
      DATA_DIR: at('restored'),
    });
    expect(await countTraffic(restored)).toBeGreaterThanOrEqual(PREPARED + before);
    const resend = async (index: number) => {
      for (let n = index; n < acknowledged.length; n += SENDERS) {
        const body = JSON.stringify(acknowledged[n]!.message);
        expect((await post(`${restored.collectorUrl}/v2/${prepared.clientId}/prod/sync`, body)).status).toBe(
          202,
        );
      }
    };
    await Promise.all(Array.from({ length: SENDERS }, (_, index) => resend(index)));
    await complete(['import', file, '--app', String(prepared.appId)], at('restored'));
    expect(await countTraffic(restored)).toBe(PREPARED + LINES + sum(acknowledged));
    expect(readError(await run(['restore', at('serving'), '--replace'], at('restored')))).toEqual([
      1,
      'error: A server has the data directory open: stop it before a restore',
    ]);
    await restored.stop();
  });

  it('backs up without a server, gives the owner alone access, and names what is wrong', async () => {
    expect(statSync(at('serving')).mode & 0o777).toBe(0o700);
    await prepare({ DATA_DIR: at('small') }, PREPARED);
    const made = await complete(['backup', at('whole')], at('small'));
    // Rows are fewer and bytes are others once the engine has merged parts.
    expect(await complete(['restore', at('whole'), '--check'], at('none'))).toMatchObject({
      backup: at('whole'),
      checked: true,
      tables: made.tables,
    });
    expect(existsSync(at('none'))).toBe(false);
    for (const [args, message] of [
      [['backup', at('whole')], `There is a ${at('whole')} already: a backup needs a new name`],
      [['backup', at('missing/one')], `There is no directory ${at('missing')} for the backup`],
      [['backup', at('small/backup')], 'A backup cannot be inside of the data directory'],
      [['restore', at('missing')], `There is no backup ${at('missing')}`],
      [
        ['restore', at('whole')],
        `There is a store in ${at('small')}: --replace puts the backup in its place`,
      ],
    ] as const)
      expect(readError(await run([...args], at('small')))).toEqual([1, expect.stringContaining(message)]);
    const error = `error: There is no store in ${at('none')}`;
    for (const args of [['backup', at('another')], ['verify']])
      expect(readError(await run(args, at('none')))).toEqual([1, error]);
    expect(existsSync(at('none'))).toBe(false);
  });

  it('needs free space for the whole store', () => {
    expect(() => {
      requireSpace(place, Number.MAX_SAFE_INTEGER);
    }).toThrow(/ MB free, \d+ MB are needed$/);
  });

  it('restores what an increment and its base have', async () => {
    await complete(['team', 'create', '--name', 'Later'], at('small'));
    await complete(['backup', at('increment'), '--base', at('whole')], at('small'));
    expect(measureSize(at('increment'))).toBeLessThan(measureSize(at('whole')));
    await complete(['restore', at('increment')], at('incremented'));
    const { out } = await run(['team', 'list'], at('incremented'));
    expect(out.map((line) => (JSON.parse(line) as { name: string }).name)).toEqual(['Acme', 'Later']);
  });

  it('leaves no backup under its name when it is killed, or the server that makes it', async () => {
    const service = await ProductProcess.start(['serve'], env);
    for (let n = 0; n < KILLS; n++)
      await run(['backup', at(`killed-${n}`)], undefined, { killAfterMs: 500 + n * 250 });
    const making = run(['backup', at('killed-server')]);
    const isBegun = () => readdirSync(place).some((name) => name.startsWith('killed-server.'));
    while (!isBegun()) await new Promise((resolve) => setTimeout(resolve, 5));
    await service.crash();
    const { code } = await making;
    if (code !== 0) expect(readdirSync(place).filter((name) => name.startsWith('killed-server'))).toEqual([]);
    const named = readdirSync(place).filter((name) => /^killed-[a-z0-9]+$/.test(name));
    for (const name of named) await complete(['restore', at(name), '--check']);
    const incomplete = readdirSync(place).filter((name) => name.endsWith('.incomplete'));
    for (const name of incomplete)
      if (!existsSync(join(at(name), '.backup')))
        expect(readError(await run(['restore', at(name), '--check']))).toEqual([
          1,
          `error: ${at(name)} is not a whole backup: it has no list of its files (.backup), which is written last`,
        ]);
    const next = await run(['backup', at('killed-0-next')]);
    expect(next.code).toBe(0);
  });

  it('leaves the old store or the new one when a restore is killed, and can be run again', async () => {
    const names = async (dataDir: string) =>
      (await run(['team', 'list'], dataDir)).out.map((line) => (JSON.parse(line) as { name: string }).name);
    const old = copySmall('old');
    for (let n = 0; n < KILLS; n++) {
      await run(['restore', at('whole'), '--replace'], old, { killAfterMs: 400 + n * 300 });
      expect([['Acme'], ['Acme', 'Later']]).toContainEqual(await names(old));
    }
    await complete(['restore', at('whole'), '--replace'], old);
    expect(await names(old)).toEqual(['Acme']);
    const fresh = at('fresh');
    await run(['restore', at('whole')], fresh, { killAfterMs: 700 });
    if (!existsSync(join(fresh, 'metadata'))) await complete(['restore', at('whole')], fresh);
    expect(await names(fresh)).toEqual(['Acme']);
    expect(readdirSync(fresh)).not.toContain('.restore');
    expect((await run(['verify'], fresh)).code).toBe(0);
  });

  it.each(['', 'metadata/default'])(
    'removes what a check wrote when it is stopped once it made "%s"',
    async (made) => {
      const source = at(`checked-${made.length}`);
      await prepare({ DATA_DIR: source }, 1);
      await complete(['backup', `${source}-backup`], source);
      const TMPDIR = `${source}-tmp`;
      mkdirSync(TMPDIR);
      const check = await ProductProcess.begin(['restore', `${source}-backup`, '--check'], {
        ...env,
        TMPDIR,
      });
      await eventually(() => readdirSync(TMPDIR).some((name) => existsSync(join(TMPDIR, name, made))));
      check.signal('SIGINT');
      expect([(await check.ended)[0], readdirSync(TMPDIR)]).toEqual([130, []]);
    },
  );

  it.each(['backup', 'doctor'])(
    'finishes a restore that was killed in its exchange before a %s',
    async (command) => {
      const store = at(`exchanged-before-${command}`);
      await prepare({ DATA_DIR: store }, 1);
      const moved = join(store, '.restore/new');
      for (const name of ['new', 'old']) mkdirSync(join(store, '.restore', name), { recursive: true });
      // The tables are in their place, and their files are not.
      renameSync(join(store, 'store'), join(moved, 'store'));
      writeFileSync(join(store, '.restore/step'), 'in');
      if (command === 'doctor') {
        const { code, out } = await run(['doctor'], store);
        expect([code, out.filter((line) => !line.includes('"ok"'))]).toEqual([0, []]);
      } else {
        renameSync(join(store, 'metadata'), join(moved, 'metadata'));
        await complete(['backup', at('of-exchanged')], store);
      }
      expect((await run(['verify'], store)).code).toBe(0);
      expect(readdirSync(store)).not.toContain('.restore');
    },
  );

  it.each<[string, (backup: string) => void, RegExp]>([
    [
      'a bit of a file is another',
      change((bytes) => flipLast(bytes)),
      /damaged: request_logs_v1: .*Checksum/,
    ],
    [
      'a file is cut off',
      change((bytes) => bytes.subarray(0, 10)),
      /cannot be restored: .*(?:EOF|unexpected size)/,
    ],
    [
      'a file is missing',
      (backup) => {
        rmSync(findData(backup));
      },
      /cannot be restored: .*No such file/,
    ],
    [
      'its list is cut off',
      (backup) => {
        truncateSync(join(backup, '.backup'), 5_000);
      },
      /cannot be restored: /,
    ],
    [
      'its list is missing',
      (backup) => {
        rmSync(join(backup, '.backup'));
      },
      / is not a whole backup/,
    ],
    [
      'a table is missing',
      (backup) => {
        const list = join(backup, '.backup');
        const entry = /<file><name>metadata\/default\/consumers_v1\.sql<.*?<\/file>/;
        writeFileSync(list, readFileSync(list, 'utf8').replace(entry, ''));
      },
      /consumers_v1/,
    ],
  ])('refuses a backup and changes nothing when %s', async (title, harm, message) => {
    const backup = at(title.replaceAll(' ', '-'));
    cpSync(at('whole'), backup, { recursive: true });
    harm(backup);
    const store = join(place, 'unharmed');
    if (!existsSync(store)) copySmall('unharmed');
    const files = listFiles(store);
    expect(readError(await run(['restore', backup, '--replace'], store))).toEqual([
      1,
      expect.stringMatching(message),
    ]);
    expect(listFiles(store)).toEqual(files);
  });

  it('checks a backup that is damaged, and one of a newer version', async () => {
    expect(readError(await run(['restore', at('a-bit-of-a-file-is-another'), '--check']))).toEqual([
      1,
      expect.stringContaining('The backup is damaged'),
    ]);
    const newer = new Config({ DATA_DIR: at('incremented') });
    const store = await ClickHouse.open(newer);
    await store.insert('schema_migrations', ['{"version":9999,"name":"9999_later.sql","checksum":""}']);
    await store.close();
    await complete(['backup', at('newer')], at('incremented'));
    expect(readError(await run(['restore', at('newer'), '--check']))).toEqual([
      1,
      'error: The store has migration 9999_later.sql, which this version does not know.',
    ]);
  });
});

function sum(messages: readonly { requests: number }[]): number {
  return messages.reduce((total, { requests }) => total + requests, 0);
}

function buildLines(): string {
  const now = Date.now();
  return Array.from(
    { length: LINES },
    (_, n) =>
      `${JSON.stringify({
        request_uuid: randomUUID(),
        timestamp: new Date(now - 60_000 - n * 100).toISOString(),
        method: 'GET',
        url: `https://shop.example.com/${n}`,
        path: `/path-${n % 40}`,
        status_code: 200,
        response_time_ms: 12,
      })}\n`,
  ).join('');
}

/** A file with the rows of a table. */
function findData(backup: string): string {
  const table = join(backup, 'data/default/request_logs_v1');
  const part = join(
    table,
    readdirSync(table).find((name) => existsSync(join(table, name, 'data.bin')))!,
  );
  return join(part, 'data.bin');
}

function change(edit: (bytes: Buffer) => Buffer) {
  return (backup: string) => {
    const file = findData(backup);
    writeFileSync(file, edit(readFileSync(file)));
  };
}

function flipLast(bytes: Buffer): Buffer {
  bytes[bytes.length - 1]! ^= 1;
  return bytes;
}

function listFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort();
}

function measureSize(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((total, entry) => total + statSync(join(entry.parentPath, entry.name)).size, 0);
}
