import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { eventually } from '../setup/eventually.js';
import { freePort } from '../setup/free-port.js';
import { captureProcess } from '../setup/secrets/run.js';
import { dataDirectory } from '../setup/service.js';
import { describeEmbedded } from '../setup/store.js';

const TYPESCRIPT = pathToFileURL('test/setup/typescript.js').href;
/** Loaded before the product: from the first signal on, the event loop does not turn any more. */
const BUSY_AFTER_SIGNAL = `data:text/javascript,process.once('SIGTERM',()=>setImmediate(()=>{for(;;);}))`;
/** The stop's own deadline is 10 seconds; beyond this the process would be there for ever. */
const LONGEST_MS = 30_000;

const FORMS: [string[]][] = [[['serve']], [['collector']], [['serve', '--collector']]];

// Each process has the engine in it.
describeEmbedded('SIGTERM', () => {
  const place = dataDirectory();
  let child: ChildProcess | undefined;

  afterEach(() => child?.kill('SIGKILL'));
  afterAll(place.remove);

  async function start(args: readonly string[], env: NodeJS.ProcessEnv = {}, ...imports: string[]) {
    const options = [TYPESCRIPT, ...imports].flatMap((url) => ['--import', url]);
    const process_ = spawn(process.execPath, [...options, join(process.cwd(), 'src/cli.ts'), ...args], {
      env: {
        PATH: process.env.PATH,
        HOST: '127.0.0.1',
        PORT: String(await freePort()),
        COLLECTOR_PORT: String(await freePort()),
        ...place.env,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = process_;
    captureProcess('stop', process_, { shown: true });
    const lines: string[] = [];
    createInterface(process_.stdout).on('line', (line) => lines.push(line));
    const ended = once(process_, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    return {
      terminate: () => process_.kill('SIGTERM'),
      /** The exit code and the signal that ended it. */
      ended,
      hasLogged: (message: string) =>
        eventually(() => lines.some((line) => line.includes(`"${message}"`)), LONGEST_MS),
      isRunning: () => process_.exitCode === null && process_.signalCode === null,
    };
  }

  it.each(FORMS)('ends %s with 0 when it comes while the store is opened', async (args) => {
    const directory = join(place.env.DATA_DIR!, args.join(''));
    const service = await start(args, { DATA_DIR: directory });
    // The engine's own file: from here on tables are opened and migrated, and nothing is listened to.
    await eventually(() => existsSync(join(directory, 'status')), LONGEST_MS);
    service.terminate();
    expect(await service.ended).toEqual([0, null]);
  });

  it('ends the API and the collector with 0 when it comes as soon as the first of them listens', async () => {
    const service = await start(['serve', '--collector']);
    await service.hasLogged('listening');
    service.terminate();
    expect(await service.ended).toEqual([0, null]);
  });

  it('ends the process at the deadline when its event loop is busy from then on', async () => {
    const service = await start(['serve', '--collector'], {}, BUSY_AFTER_SIGNAL);
    await service.hasLogged('collector listening');
    service.terminate();
    await eventually(() => !service.isRunning(), LONGEST_MS);
    expect(await service.ended).toEqual([null, 'SIGKILL']);
  });
});
