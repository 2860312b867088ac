import { chmodSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirectory } from '../setup/data-directory.js';
import { ProductProcess } from '../setup/product-process.js';
import { describeEmbedded } from '../setup/store.js';

/** Often enough that some of the commands met another one that had the lock and had not written its ID. */
const [ROUNDS, AT_ONCE] = [6, 4];

// Each process has the engine in it.
describeEmbedded('the directory of the embedded engine', () => {
  const place = dataDirectory();
  const existing = place.env.DATA_DIR!;

  afterEach(() => ProductProcess.endAll());
  afterAll(place.remove);

  async function readWarnings(args: string[], directory: string) {
    const service = await ProductProcess.start(args, { DATA_DIR: directory, METRICS_PORT: '' });
    expect(await service.stop()).toBe(0);
    return service.log.filter(({ level }) => level === 40);
  }

  it('is opened by one command after the other when several begin at the same moment', async () => {
    const env = { DATA_DIR: join(existing, 'shared') };
    expect((await ProductProcess.run(['migrate'], env)).code).toBe(0);
    for (let round = 0; round < ROUNDS; round++) {
      const commands = Array.from({ length: AT_ONCE }, () => ProductProcess.run(['team', 'list'], env));
      const errors = (await Promise.all(commands)).flatMap(({ err }) =>
        err.filter((line) => line.startsWith('error')),
      );
      expect(errors).toEqual([]);
    }
  });

  it('is made for its owner alone', async () => {
    const missing = join(existing, 'missing');
    expect(await readWarnings(['serve'], missing)).toEqual([]);
    expect(statSync(missing).mode & 0o777).toBe(0o700);
  });

  it.each([[['serve']], [['collector']]])(
    'is warned of once when others have access to it, and stays as it is: %s',
    async (args) => {
      chmodSync(existing, 0o750);
      expect(await readWarnings(args, existing)).toMatchObject([
        { data_dir: existing, mode: '750', msg: expect.stringContaining('chmod 700') },
      ]);
      expect(statSync(existing).mode & 0o777).toBe(0o750);
    },
  );
});
