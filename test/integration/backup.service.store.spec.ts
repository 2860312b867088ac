import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AdminError } from '../../src/ops/admin/admin.error.js';
import { BackupRepository } from '../../src/ops/backup/backup.repository.js';
import { BackupService } from '../../src/ops/backup/backup.service.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { LocalCoordinator } from '../../src/coordination/writer-coordinator.js';
import { Config } from '../../src/config/config.js';
import { dataDirectory, prepare } from '../setup/data-directory.js';
import { eventually } from '../setup/eventually.js';
import { describeEmbedded } from '../setup/store.js';

const OPERATIONS = `SELECT toString(status) AS status, num_files + num_entries AS noted FROM system.backups`;

describeEmbedded('BackupService', () => {
  const data = dataDirectory();
  const place = mkdtempSync(join(tmpdir(), 'backups-'));
  let store: ClickHouse;

  beforeAll(async () => {
    await prepare(data.env);
    store = await ClickHouse.open(new Config(data.env));
  });
  afterAll(async () => {
    await store.close();
    rmSync(place, { recursive: true });
    data.remove();
  });

  const listOperations = () => store.rows<{ status: string; noted: number }>('test.operations', OPERATIONS);
  const create = (name: string, coordinator: LocalCoordinator, repository = new BackupRepository(store)) =>
    new BackupService(repository).create(
      { database: 'default', place: { path: join(place, name) } },
      coordinator,
      () => undefined,
    );

  it('begins once no write runs, and lets writes go on once the engine has noted what belongs to the backup', async () => {
    const atResume: unknown[] = [];
    class Observed extends LocalCoordinator {
      pauses = 0;
      override pauseWrites(owner: string, ms: number): Promise<number> {
        this.pauses++;
        return super.pauseWrites(owner, ms);
      }
      override async resumeWrites(owner: string): Promise<void> {
        atResume.push(...(await listOperations()));
        await super.resumeWrites(owner);
      }
    }
    const coordinator = new Observed();
    await coordinator.beginWrite('writer', 60_000);
    const created = create('first', coordinator);
    await eventually(() => coordinator.pauses > 1);
    expect(await listOperations()).toEqual([]);
    await coordinator.endWrite('writer');
    expect(await created).toMatchObject({ tables: expect.any(Number) as number });
    expect(atResume).toEqual([expect.not.objectContaining({ status: 'CREATING_BACKUP', noted: 0 })]);
  });

  it('is not consistent when something was written meanwhile, and ends once the engine no longer writes it', async () => {
    class Forgetful extends LocalCoordinator {
      private hasPaused = false;
      override async pauseWrites(owner: string, ms: number): Promise<number> {
        if (this.hasPaused) {
          await this.resumeWrites(owner);
          await this.beginWrite('writer', 60_000);
        }
        this.hasPaused = true;
        return super.pauseWrites(owner, ms);
      }
    }
    await expect(create('second', new Forgetful())).rejects.toThrow(
      'The backup is not consistent, and must be removed: writes could not be paused long enough',
    );
    expect((await listOperations()).map(({ status }) => status)).not.toContain('CREATING_BACKUP');
  });

  it('fails when the engine does not know the backup any more', async () => {
    /** As if the engine was started again. */
    class Unknown extends BackupRepository {
      override beginBackup(): Promise<void> {
        return Promise.resolve();
      }
    }
    await expect(create('third', new LocalCoordinator(), new Unknown(store))).rejects.toThrow(
      /must be removed: The engine was started again meanwhile/,
    );
  });

  it('needs free space on a disk of the engine, as far as that is known', async () => {
    const service = new BackupService(new BackupRepository(store));
    await expect(service.requireSpace('default', Number.MAX_SAFE_INTEGER)).rejects.toThrow(AdminError);
    await service.requireSpace('default', 1);
    await service.requireSpace('unknown', Number.MAX_SAFE_INTEGER);
  });
});
