import { chmodSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirectory } from '../setup/data-directory.js';
import { ProductProcess } from '../setup/product-process.js';
import { describeEmbedded } from '../setup/store.js';

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

  it('is made for its owner alone', async () => {
    const missing = join(existing, 'missing');
    expect(await readWarnings(['serve'], missing)).toEqual([]);
    expect(statSync(missing).mode & 0o777).toBe(0o700);
  });

  it.each([[['serve']], [['collector']], [['serve', '--collector']]])(
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
