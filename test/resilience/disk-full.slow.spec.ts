import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NewBackupDirectory } from '../../src/ops/backup/backup-directory.js';
import { BackupRepository } from '../../src/ops/backup/backup.repository.js';
import { BackupService } from '../../src/ops/backup/backup.service.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { LocalCoordinator } from '../../src/coordination/writer-coordinator.js';
import { Config } from '../../src/config/config.js';
import { IMPORT_BATCH } from '../../src/sources/lines/files/importer.js';
import { buildSync } from '../collector/setup/messages.js';
import { detail } from '../setup/contract.js';
import { type Prepared, dataDirectory, prepare } from '../setup/data-directory.js';
import { eventually } from '../setup/eventually.js';
import { getValue, parseExposition } from '../setup/exposition.js';
import { ProductProcess } from '../setup/product-process.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';

function mountDisk(place: string, megabytes = 48): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', place], { stdio: 'ignore' });
}

const disk = mkdtempSync(join(tmpdir(), 'disk-'));

function canMount(): boolean {
  try {
    mountDisk(disk);
    execFileSync('umount', [disk]);
    return true;
  } catch {
    return false;
  }
}

const title = 'a full disk';

if (process.env.CLICKHOUSE_URL !== undefined || !canMount())
  describe.skip(`${title} (needs the embedded engine, and an account that may mount a tmpfs)`, () => {
    it('is reported', () => undefined);
  });
else
  describe(title, () => {
    const env = { DATA_DIR: join(disk, 'data') };
    const filler = join(disk, 'filler');
    let prepared: Prepared;

    const fill = (path = disk) => {
      const { bavail, bsize } = statfsSync(path);
      // The engine makes small files all the time: it is full when less than its reserve of a megabyte is
      // left.
      writeFileSync(join(path, 'filler'), Buffer.alloc(Math.max(0, bavail * bsize - 256 * 1024)));
    };

    beforeAll(async () => {
      mountDisk(disk);
      prepared = await prepare(env);
    });
    afterEach(() => ProductProcess.endAll());
    afterAll(() => {
      closeConnections();
      execFileSync('umount', [disk]);
      rmSync(disk, { recursive: true });
    });

    it('is 503 to client libraries, says so in the log, and passes when there is room again', async () => {
      const service = await ProductProcess.start(['serve'], env);
      const freeBytes = async () => {
        const { text } = await sendRaw(service.metricsUrl, '/metrics');
        return getValue(parseExposition(text), 'request_analytics_store_free_bytes', { disk: 'default' });
      };
      const post = () =>
        sendRaw(service.collectorUrl, `/v2/${prepared.clientId}/prod/sync`, {
          method: 'POST',
          body: JSON.stringify(buildSync()),
        });
      expect(await freeBytes()).toBeGreaterThan(1024 * 1024);
      fill();
      expect(await post()).toMatchObject({
        status: 503,
        text: detail('Service temporarily unavailable'),
        headers: { 'retry-after': '1' },
      });
      await eventually(() =>
        service.log.find(
          ({ msg }) => msg === 'the disk of the store is full (243); doctor says how much is free',
        ),
      );
      // A backup to another disk does not wait for the write that failed.
      const place = mkdtempSync(join(tmpdir(), 'backups-'));
      const backup = await ProductProcess.run(['backup', join(place, 'backup')], env, {
        killAfterMs: 30_000,
      });
      rmSync(place, { recursive: true });
      // Or it names the disk: a batch may be half written.
      const outcome = backup.code === 0 ? 'done' : backup.err.at(-1);
      expect(['done', 'error: the disk of the store is full (243); doctor says how much is free']).toContain(
        outcome,
      );
      const team = await sendRaw(service.apiUrl, '/v1/team', { headers: { 'Api-Key': prepared.key } });
      expect(team.status).toBe(200);
      rmSync(filler);
      expect((await post()).status).toBe(202);
      expect(await service.stop()).toBe(0);
    });

    it('is shown by the free bytes of a service that starts on it, and one line on the command line', async () => {
      fill();
      const service = await ProductProcess.start(['serve'], env);
      const { text } = await sendRaw(service.metricsUrl, '/metrics');
      const free = getValue(parseExposition(text), 'request_analytics_store_free_bytes', { disk: 'default' });
      expect(free).toBeLessThan(1024 * 1024);
      expect(await service.stop()).toBe(0);
      const { code, err } = await ProductProcess.run(['team', 'create', '--name', 'Acme'], env);
      expect([code, err.at(-1)]).toEqual([
        1,
        'error: the disk of the store is full (243); doctor says how much is free',
      ]);
    });

    it('breaks an import off, which does not say that all requests were in the store already', async () => {
      const file = join(disk, 'requests.ndjson');
      const timestamp = new Date(Date.now() - 60_000).toISOString();
      const lines = Array.from({ length: 3.5 * IMPORT_BATCH.rows }, (_, n) =>
        JSON.stringify({ timestamp, method: 'GET', url: `http://a/${n}`, status_code: 200 }),
      );
      // Of the second file, the first batch is in the store. The next one meets the full disk, before all
      // lines are read.
      const [before, after] = [lines.slice(0, 1.25 * IMPORT_BATCH.rows), lines].map(
        (some) => `${some.join('\n')}\n`,
      );
      const run = () => ProductProcess.run(['import', file, '--app', String(prepared.appId)], env);
      rmSync(filler, { force: true });
      const service = await ProductProcess.start(['serve'], env);
      writeFileSync(file, before!);
      expect(await run()).toMatchObject({ code: 0 });
      writeFileSync(file, after!);
      fill();
      const { code, out, err } = await run();
      expect(code).toBe(1);
      expect(JSON.parse(out.at(-1)!)).toMatchObject({ imported: 0, duplicates: IMPORT_BATCH.rows });
      expect(err.at(-1)).toBe('error: the disk of the store is full (243); doctor says how much is free');
      expect(err.join()).not.toContain('All requests were in the store already');
      expect(await service.stop()).toBe(0);
    });

    it('breaks the only batch of an import off, which prints what became of its lines', async () => {
      const file = join(disk, 'few.ndjson');
      const timestamp = new Date(Date.now() - 60_000).toISOString();
      writeFileSync(
        file,
        `${JSON.stringify({ timestamp, method: 'GET', url: 'http://a/', status_code: 200 })}\n`,
      );
      rmSync(filler, { force: true });
      const service = await ProductProcess.start(['serve'], env);
      fill();
      const args = ['import', file, '--app', String(prepared.appId)];
      const { code, out, err } = await ProductProcess.run(args, env);
      expect([code, err.at(-1)]).toEqual([
        1,
        'error: the disk of the store is full (243); doctor says how much is free',
      ]);
      expect(JSON.parse(out.at(-1)!)).toMatchObject({ read: 1, imported: 0, duplicates: 0 });
      expect(await service.stop()).toBe(0);
    });

    it('fails a backup that fills it, also where the engine does not notice', async () => {
      // A backup needs more room than the other tests' disk has, and the engine copies to another file system
      // in another way.
      const place = mkdtempSync(join(tmpdir(), 'backups-'));
      const data = dataDirectory();
      mountDisk(place, 66);
      try {
        await prepare(data.env, 2_000);
        const directory = new NewBackupDirectory(join(place, 'backup'), data.env.DATA_DIR!);
        directory.make(0, data.env.DATA_DIR!);
        fill(place);
        const store = await ClickHouse.open(new Config(data.env));
        const service = new BackupService(new BackupRepository(store));
        const backUp = async () => {
          const request = { database: 'default', place: { path: directory.draft } };
          await service.create(request, new LocalCoordinator(), () => undefined);
          directory.publish();
        };
        await expect(backUp()).rejects.toThrow(
          /^The backup failed: (?:its file \S+ is not whole|.*No space left)/,
        );
        await store.close();
        expect(existsSync(join(place, 'backup'))).toBe(false);
      } finally {
        execFileSync('umount', [place]);
        rmSync(place, { recursive: true });
        data.remove();
      }
    });
  });
