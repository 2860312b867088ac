import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createAdmin } from '../../src/ops/admin/admin.js';
import { Config } from '../../src/config/config.js';
import { Load, type Outgoing } from '../collector/setup/load.js';
import { logFile } from '../collector/setup/log-file.js';
import { CrashSite, Moments, randomFrom } from '../resilience/crash.js';
import { eventually } from '../setup/eventually.js';
import { ProductProcess } from '../setup/product-process.js';
import { openMigrated } from '../setup/schema.js';
import { forbidInOutput } from '../setup/secrets/run.js';
import { describeEmbedded } from '../setup/store.js';
import { type AppBody, AppReader, type Effort, Remembered, expectSame } from './answers.js';
import { Random } from './random.js';
import { type Entry, type Line, type Made, RequestMaker } from './requests.js';
import { type Summary, Truth } from './truth.js';

/** `DIFFERENTIAL_SEED`, to repeat what was seen, or a new one. */
const SEED = Number(process.env.DIFFERENTIAL_SEED ?? Math.floor(Math.random() * 2 ** 31));
/** Requests that are drawn for each way in, in each app. */
const REQUESTS = Number(process.env.DIFFERENTIAL_REQUESTS ?? 60);
const IS_LONG = REQUESTS > 2_000;
const ROUNDS = IS_LONG ? 3 : 2;
/** How often imports, and the service, are killed in each round. */
const KILLS = IS_LONG ? 6 : 1;
const EFFORT: Effort = IS_LONG ? { queries: 25, details: 200 } : { queries: 4, details: 20 };
const SENDERS = 8;

const OLDEST_DAYS = 330;
const DAY = 24 * 3_600_000;
type Way = 'ndjson' | 'combined' | 'log' | 'sync';
const SINGLES: readonly (readonly Way[])[] = [['ndjson'], ['combined'], ['log'], ['sync']];
/** Every mix of two, in sets that have each way once. */
const MIXES: readonly (readonly Way[])[][] = [
  [
    ['ndjson', 'combined'],
    ['log', 'sync'],
  ],
  [
    ['ndjson', 'log'],
    ['combined', 'sync'],
  ],
  [
    ['ndjson', 'sync'],
    ['combined', 'log'],
  ],
];

/** Paths that applications refuse: of the first kind some are endpoints, of the second none ever is. */
const REFUSED_PATHS = ['/login/{id}', '/wp-admin/{id}'];

/** A log that grows. */
class LogFile {
  readonly lines: Line[] = [];
  /** How many lines it has lost at its beginning. */
  trimmed = 0;

  constructor(
    readonly path: string,
    readonly way: Way,
    readonly source: string,
  ) {}

  /** @param end how many lines have been written */
  write(end = this.lines.length): readonly Line[] {
    const lines = this.lines.slice(this.trimmed, end);
    writeFileSync(this.path, this.text(lines));
    return lines;
  }

  compress(): string {
    const path = `${this.path}.gz`;
    writeFileSync(path, gzipSync(this.text(this.lines.slice(this.trimmed))));
    return path;
  }

  private text(lines: readonly Line[]): string {
    return lines.map(({ text }) => `${text}\n`).join('');
  }
}

/** An app, which takes its data in one way or two, and all that was sent of it. */
class MonitoredApp {
  readonly name: string;
  readonly files: LogFile[] = [];
  readonly messages: Outgoing[] = [];
  /** Lines of log files that were sent, and requests of theirs that were not odd. */
  readonly items: { wire: object | string; made: Made }[] = [];
  readonly imported: Made[] = [];
  id = 0;
  clientId = '';

  constructor(
    readonly ways: readonly Way[],
    readonly truth: Truth,
  ) {
    this.name = ways.join(' and ');
  }

  takes(way: Way): boolean {
    return this.ways.includes(way);
  }
}

describeEmbedded(`${REQUESTS} random requests by each way in (DIFFERENTIAL_SEED=${SEED})`, () => {
  const since = Date.now();
  const random = new Random(SEED);
  const maker = new RequestMaker(random, since);
  const site = new CrashSite();
  const directory = mkdtempSync(join(tmpdir(), 'differential-'));
  const moments = new Moments(60_000, randomFrom(SEED));
  const remembered = new Remembered();
  // The ways in of each app: each alone and every mix; in a short run four mixes, which the seed chooses.
  const ways = IS_LONG ? [...SINGLES, ...MIXES.flat()] : random.some(MIXES, 2).flat();
  const apps = ways.map((mix) => new MonitoredApp(mix, new Truth(since)));
  const ofTwoNodes = apps.find((app) => app.takes('combined'));
  let key = '';
  let service: ProductProcess | undefined;
  const done = { kills: 0, unfinished: 0, imports: 0, messages: 0, compared: 0, records: 0 };

  beforeAll(async () => {
    process.stdout.write(`differential: DIFFERENTIAL_SEED=${SEED} DIFFERENTIAL_REQUESTS=${REQUESTS}\n`);
    const store = await openMigrated(new Config(site.env));
    const admin = createAdmin(store);
    const { id: team } = await admin.teams.create('Acme', 'premium');
    ({ key } = await admin.keys.create(team));
    forbidInOutput(key);
    for (const app of apps) {
      const { id, client_id } = await admin.apps.create(team, app.name, 'express');
      Object.assign(app, { id, clientId: client_id });
    }
    await store.close();
  });

  afterAll(async () => {
    await service?.stop();
    site.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  it('show just what a naive truth has of them, after repeats, kills and growth', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      if (round > 0) await excludeEndpoints();
      await importAll(round);
      service = await ProductProcess.start(['serve'], {
        DATA_DIR: site.directory,
        RATE_LIMIT_PER_MINUTE: '1000000',
        COLLECTOR_RATE_LIMIT_PER_MINUTE: '1000000',
        LOG_LEVEL: 'fatal',
      });
      await sendAll(service, round);
      await compareAll(service, round);
      await service.stop();
      service = undefined;
    }
    const { kills, unfinished, imports, messages, compared, records } = done;
    process.stdout.write(
      `differential: ${imports} imports and ${messages} messages with ${kills} kills, ${unfinished} imports continued; ` +
        `${compared} answers with ${records} records are those of the truth\n`,
    );
  }, 3_600_000);

  async function excludeEndpoints() {
    for (const { id, truth } of random.some(apps, IS_LONG ? 2 : 1)) {
      const [endpoint, { method, path }] = random.pick([...truth.endpoints]);
      const verb = truth.excluded.has(endpoint) ? 'include' : 'exclude';
      await site.complete(['endpoint', verb, '--app', String(id), '--method', method, '--path', path]);
      if (verb === 'exclude') truth.excluded.add(endpoint);
      else truth.excluded.delete(endpoint);
    }
  }

  async function importAll(round: number) {
    const all = apps.flatMap((app) => {
      const ways = (['ndjson', 'combined'] as const).filter((way) => app.takes(way));
      const imports = ways.map((way) => ({ app, grow: () => grow(app, way, round) }));
      return app === ofTwoNodes ? [...imports, { app, grow: () => copySome(app) }] : imports;
    });
    // A process for each takes its time: in a short run some logs rest.
    const due = round === 0 || IS_LONG ? all : random.some(all, 2);
    const grown = due.map((log) => ({ app: log.app, file: log.grow() }));
    // How long an import takes is known once one has ended.
    const killed = random.some(grown.slice(1), KILLS);
    for (const log of grown) {
      if (killed.includes(log)) await killAndImport(log.app, log.file);
      else await importFile(log.app, log.file);
    }
    const { app, file } = random.pick(grown);
    const again = app.truth.import(file.lines.slice(file.trimmed), file.source);
    expectSummary(app, await runImport(app, file, file.compress()), again);
  }

  async function importFile(app: MonitoredApp, file: LogFile) {
    const expected = app.truth.import(file.write(), file.source);
    expectSummary(app, await runImport(app, file, file.path), expected);
  }

  /** Imports a file that grows while its imports are killed. */
  async function killAndImport(app: MonitoredApp, file: LogFile) {
    const kept = file.lines.length - file.trimmed;
    let killedAt = 0;
    for (const share of IS_LONG ? [0.6, 0.8] : [0.7]) {
      file.write(file.trimmed + Math.ceil(kept * share));
      const at = moments.next();
      const { code, ms } = await site.run(importArguments(app, file, file.path), at);
      if (code === null) [killedAt, done.kills] = [at, done.kills + 1];
      else moments.tooLate(ms);
    }
    const expected = app.truth.import(file.write(), file.source);
    const summary = await runImport(app, file, file.path);
    // What an import that was killed has brought in is a duplicate now.
    if (summary.imported === expected.imported) moments.tooEarly(killedAt);
    else if (killedAt > 0) done.unfinished += 1;
    const { read, rejected, imported, duplicates } = expected;
    expectSame(`${app.name}: lines`, [summary.read, summary.rejected], [read, rejected]);
    expectSame(`${app.name}: requests`, summary.imported + summary.duplicates, imported + duplicates);
  }

  async function runImport(app: MonitoredApp, file: LogFile, path: string): Promise<Summary> {
    const { code, out, err, ms } = await site.run(importArguments(app, file, path));
    moments.tooLate(ms);
    if (code !== 0) throw new Error(`The import of ${app.name} ended with ${code}: ${err.join('\n')}`);
    done.imports += 1;
    const line = out.find((text) => text.startsWith('{"read"'));
    return JSON.parse(line ?? 'null') as Summary;
  }

  function importArguments(app: MonitoredApp, { way, source }: LogFile, path: string): string[] {
    const combined = [
      '--env',
      'staging',
      '--base-url',
      'https://shop.example.com',
      '--consumer-from',
      'user',
    ];
    return [
      ...['import', path, '--app', String(app.id), '--source', source, '--format', way],
      ...(way === 'combined' ? combined : []),
    ];
  }

  function expectSummary(app: MonitoredApp, summary: Summary, expected: Summary) {
    const { read, imported, duplicates, rejected, logged } = summary;
    expectSame(`import of ${app.name}`, { read, imported, duplicates, rejected, logged }, expected);
  }

  /**
   * Adds the round's share of lines to the app's log of that kind, which may have lost some at its beginning.
   */
  function grow(app: MonitoredApp, way: 'ndjson' | 'combined', round: number): LogFile {
    let file = app.files.find((file) => file.way === way && file.source === 'web-1');
    if (!file) {
      file = new LogFile(join(directory, `${app.id}-${way}.log`), way, 'web-1');
      app.files.push(file);
    }
    if (round > 0 && random.chance(0.5)) file.trimmed = random.integer(0, file.lines.length);
    for (let made = 0; made < REQUESTS / ROUNDS; made += 1) {
      const line = way === 'ndjson' ? drawNdjson(app, round) : drawCombined();
      file.lines.push(line);
      // An equal line is another request unless it brings its own identity.
      if (random.chance(0.05)) file.lines.push(line);
    }
    return file;
  }

  function drawCombined(): Line {
    if (random.chance(0.02)) return { text: random.pick(['-', 'no request', '{"a":1}']), made: null };
    return maker.combined('staging', OLDEST_DAYS, REFUSED_PATHS);
  }

  function drawNdjson(app: MonitoredApp, round: number): Line {
    const drawn = random.share();
    if (drawn < 0.02) return { text: random.pick(['no JSON', '{}', '[1]', '{"method":"GET"}']), made: null };
    if (drawn < 0.06) return maker.ndjson(maker.refused(random.pick(REFUSED_PATHS), round));
    // What the collector has logged, as an export has it.
    if (drawn < 0.2 && app.items.length > 0) return maker.ndjson(random.pick(app.items).made);
    if (drawn < 0.24 && app.imported.length > 0) return maker.ndjson(random.pick(app.imported));
    const made = maker.whole(round, OLDEST_DAYS);
    if (drawn > 0.8) return maker.ndjson({ ...made, shown: { ...made.shown, request_uuid: null } });
    const line = maker.ndjson(made);
    if (line.made) app.imported.push(line.made);
    return line;
  }

  /** The log of a second node. Some of its lines are equal to lines of the first. */
  function copySome(app: MonitoredApp): LogFile {
    const first = app.files.find(({ way }) => way === 'combined');
    let second = app.files.find(({ source }) => source === 'web-2');
    if (!second) {
      second = new LogFile(`${first!.path}.2`, 'combined', 'web-2');
      app.files.push(second);
    }
    second.lines.push(...random.some(first!.lines, Math.ceil(REQUESTS / ROUNDS / 4)));
    return second;
  }

  async function sendAll(to: ProductProcess, round: number) {
    const messages = apps.flatMap((app) => {
      const fresh = [
        ...(round === 0 && (app.takes('log') || app.takes('sync')) ? [makeStartup(app)] : []),
        ...(app.takes('sync') ? makeSyncs(app, round) : []),
        ...(app.takes('log') ? makeLogFiles(app, round) : []),
      ];
      const repeated = random.some([...app.messages, ...fresh], Math.ceil(fresh.length / 5));
      app.messages.push(...fresh);
      return [...fresh, ...repeated];
    });
    const load = new Load(
      random.shuffled(messages).map((message) => ({ ...message, url: `${to.collectorUrl}${message.url}` })),
    );
    const sent = load.run(SENDERS);
    const moments = Array.from({ length: KILLS }, () => random.integer(1, messages.length - 1));
    try {
      for (const acknowledged of moments.sort((a, b) => a - b)) {
        await Promise.race([eventually(() => load.acknowledged >= acknowledged, 600_000), sent]);
        await to.crash();
        await to.launch();
        done.kills += 1;
      }
      await sent;
    } finally {
      load.stop();
    }
    done.messages += messages.length;
  }

  function makeStartup(app: MonitoredApp): Outgoing {
    const endpoints = ['GET', 'POST'].map((method) => ({ method, path: '/login/{id}' }));
    app.truth.startup('prod', endpoints, 'fastify');
    const paths = endpoints.map(({ method }) => ({ method, path: '/login/:id' }));
    const body = { message_uuid: random.uuid(), paths, client: 'js:fastify', versions: random.text() };
    return { url: `/v2/${app.clientId}/prod/startup`, body: JSON.stringify(body), rejected: 0 };
  }

  function makeSyncs(app: MonitoredApp, round: number): Outgoing[] {
    const syncs: Outgoing[] = [];
    for (let remaining = Math.ceil(REQUESTS / ROUNDS); remaining > 0;) {
      const entries: Entry[] = Array.from({ length: Math.min(remaining, random.integer(0, 40)) }, () =>
        maker.entry(round),
      );
      remaining -= Math.max(entries.length, 1);
      const consumers = Array.from({ length: random.integer(0, 3) }, () => maker.consumer(round)).filter(
        (consumer) => consumer !== null,
      );
      const rejected = entries.filter(({ count }) => count === null).length;
      if (rejected === entries.length && rejected > 0) continue;
      const [timestamp, env] = [maker.time(OLDEST_DAYS), maker.env()];
      app.truth.sync(timestamp, env, entries, consumers);
      const body = {
        timestamp: timestamp / 1000,
        instance_uuid: random.uuid(),
        message_uuid: random.uuid(),
        requests: entries.map(({ wire }) => wire),
        consumers: random.chance(0.05) && consumers.length === 0 ? 'odd' : consumers,
        validation_errors: [],
        resources: null,
      };
      syncs.push({ url: `/v2/${app.clientId}/${env}/sync`, body: JSON.stringify(body), rejected });
    }
    return syncs;
  }

  function makeLogFiles(app: MonitoredApp, round: number): Outgoing[] {
    const files: Outgoing[] = [];
    for (let remaining = Math.ceil(REQUESTS / ROUNDS); remaining > 0;) {
      const env = maker.env();
      const lines: (object | string)[] = [];
      let rejected = 0;
      for (let line = Math.min(remaining, random.integer(1, 60)); line > 0; line -= 1, remaining -= 1) {
        const drawn = random.share();
        if (drawn < 0.02) {
          lines.push(random.pick(['{}', '{"uuid":1}', JSON.stringify(tooOld(round))]));
          rejected += 1;
          continue;
        }
        // What another file or an import has already; which of two files comes first is not known.
        const logged = () => app.items.filter(({ made }) => made.shown.env === env);
        const earlier = drawn < 0.08 ? logged() : drawn < 0.2 ? recentlyImported(app) : [];
        const item = earlier.length > 0 ? random.pick(earlier) : drawItem(env, round);
        lines.push(item.wire);
        app.items.push(item);
        app.truth.logItem(item.made);
      }
      const url = `/v2/${app.clientId}/${env}/log?uuid=${random.uuid()}`;
      files.push({ url, body: logFile(lines), rejected });
    }
    return files;
  }

  function drawItem(env: string, round: number) {
    const made = maker.whole(round, 14);
    return maker.item({ ...made, shown: { ...made.shown, env } });
  }

  function recentlyImported(app: MonitoredApp) {
    return random
      .some(app.imported, 20)
      .filter(({ shown }) => Date.parse(shown.timestamp) > since - 14 * DAY)
      .slice(0, 1)
      .map((made) => maker.item(made));
  }

  function tooOld(round: number): object {
    const { wire } = drawItem('prod', round);
    const request = { ...(wire as { request: object }).request, timestamp: (since - 16 * DAY) / 1000 };
    return { ...wire, request };
  }

  async function compareAll(from: ProductProcess, round: number) {
    const headers = { 'Api-Key': key };
    const get = async (path: string) =>
      JSON.parse(await (await fetch(`${from.apiUrl}/v1/${path}`, { headers })).text()) as unknown;
    expectSame('team', await get('team'), { id: 1, name: 'Acme' });
    expectSame(
      'apps',
      ((await get('apps')) as { data: AppBody[] }).data.map(({ id, name, client_id }) => ({
        id,
        name,
        client_id,
      })),
      apps.map(({ id, name, clientId }) => ({ id, name, client_id: clientId })),
    );
    const readers = apps.map((app) => {
      const readerRandom = new Random(SEED + 1_000 * (round + 1) + app.id);
      return {
        app,
        reader: new AppReader(from.apiUrl, key, app.id, app.truth, readerRandom, remembered, since),
      };
    });
    await Promise.all(
      readers.map(({ app, reader }) =>
        reader.compare(EFFORT).catch((error: unknown) => {
          throw new Error(`Round ${round}, app of ${app.name}: ${String(error)}`, { cause: error });
        }),
      ),
    );
    for (const { reader } of readers) {
      done.compared += reader.compared;
      done.records += reader.records;
    }
  }
});
