import { readFileSync } from 'node:fs';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { migrate, readMigrations } from '../../src/store/migrations/migrate.js';
import { Config } from '../../src/config/config.js';
import { PRODUCT_VERSION } from '../../src/config/version.js';
import { BatchLog } from '../../src/write/batch-log.js';
import { dataDirectory } from '../setup/data-directory.js';
import { ProductProcess } from '../setup/product-process.js';
import { forbidInOutput } from '../setup/secrets/run.js';
import { describeEmbedded } from '../setup/store.js';
import { call, readRelease, serve, unpackRelease, versionsOfReleases } from './release.js';

const VERSIONS = versionsOfReleases();

describe('the fixtures of releases', () => {
  it('are there for this version and for each that the changelog dates', () => {
    const released = [...readFileSync('CHANGELOG.md', 'utf8').matchAll(/^## \[(\d+\.\d+\.\d+)\] - /gm)];
    expect(VERSIONS).toEqual(
      expect.arrayContaining([PRODUCT_VERSION, ...released.map(([, version]) => version)]),
    );
  });

  it.each(VERSIONS)('%s: its migrations are unchanged', async (version) => {
    const now = (await readMigrations()).map(({ name, checksum }) => [name, checksum]);
    expect(Object.fromEntries(now)).toMatchObject(readRelease(version).migrations);
  });
});

describeEmbedded.each(VERSIONS)('the data directory of %s', (version) => {
  const release = readRelease(version);
  const data = dataDirectory();
  let service: ProductProcess;

  beforeAll(async () => {
    forbidInOutput(release.key, release.revokedKey);
    unpackRelease(version, new Config(data.env).dataDir);
    service = await serve(data.env);
  });

  afterAll(async () => {
    await ProductProcess.endAll();
    data.remove();
  });

  it('gives what it gave then, with fields that came later', async () => {
    for (const { path, body } of release.answers) {
      const now = { path, body: await call(service, path, release.key) };
      expect(now).toMatchObject({ path, body });
    }
  });

  it('rejects the key that was revoked then', async () => {
    expect(await call(service, '/v1/team', release.revokedKey)).toBe('HTTP 401');
  });

  it('completes a batch that the release appended and did not apply', async () => {
    const { id, pieces, request } = release.batch;
    expect(await call(service, request.path, release.key)).toBe('HTTP 404');
    await service.stop();
    const store = await ClickHouse.open(new Config(data.env));
    const createdAt = Math.floor(Date.now() / 1000) - 1;
    await migrate(store);
    await new BatchLog(store).append({ id, createdAt, messages: [], pieces }).finally(() => store.close());
    service = await serve(data.env);
    expect(await call(service, request.path, release.key)).toMatchObject(request.body as object);
  });
});
