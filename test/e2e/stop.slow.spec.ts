import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirectory } from '../setup/data-directory.js';
import { eventually } from '../setup/eventually.js';
import { ProductProcess } from '../setup/product-process.js';
import { describeEmbedded } from '../setup/store.js';

/** Loaded before the product: from the first signal on, the event loop does not turn any more. */
const BLOCKED_BY_SIGNAL = `data:text/javascript,process.once('SIGTERM',()=>setImmediate(()=>{Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0);}))`;
const LONGEST_MS = 30_000;

const FORMS: [string[], NodeJS.ProcessEnv?][] = [
  [['serve']],
  [['collector']],
  [['serve'], { COLLECTOR: 'off' }],
];

// Each process has the engine in it.
describeEmbedded('SIGTERM', () => {
  const place = dataDirectory();
  let blocked: ProductProcess;

  // Its deadline passes while the other tests run.
  beforeAll(async () => {
    blocked = await ProductProcess.start(
      ['serve'],
      { DATA_DIR: join(place.env.DATA_DIR!, 'blocked') },
      { nodeOptions: ['--import', BLOCKED_BY_SIGNAL] },
    );
    blocked.signal('SIGTERM');
  });
  afterAll(async () => {
    await ProductProcess.endAll();
    place.remove();
  });

  const hasLogged = ({ out }: ProductProcess, message: string) =>
    eventually(() => out.some((line) => line.includes(`"${message}"`)), LONGEST_MS);

  it.each(FORMS)('ends %s with 0 when it comes while the store is opened', async (args, env = {}) => {
    const directory = join(place.env.DATA_DIR!, [...args, env.COLLECTOR].join(''));
    const service = await ProductProcess.begin(args, { DATA_DIR: directory, ...env });
    // The engine's own file: from here on tables are opened and migrated, and nothing is listened to.
    await eventually(() => existsSync(join(directory, 'status')), LONGEST_MS);
    service.signal('SIGTERM');
    expect(await service.ended).toEqual([0, null]);
  });

  it('ends the API and the collector with 0 when it comes as soon as the first of them listens', async () => {
    const service = await ProductProcess.begin(['serve'], {
      DATA_DIR: join(place.env.DATA_DIR!, 'listening'),
    });
    await hasLogged(service, 'listening');
    service.signal('SIGTERM');
    expect(await service.ended).toEqual([0, null]);
  });

  it('ends the process at the deadline when its event loop is blocked from then on', async () => {
    expect(await blocked.ended).toEqual([null, 'SIGKILL']);
  });
});
