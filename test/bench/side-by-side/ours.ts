import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CommandOptions, type Ran, createApp, runCli, runCommand } from '../command.js';
import { SERVICE_NODE_OPTIONS } from '../../setup/product-process.js';
import { freePort } from '../peers/postgres-cluster.js';
import { ROOT } from '../workspace.js';
import type { Keeper, Place, Requests } from './keeper.js';
import { runServer, sendFile } from './server.js';
import type { StoreFigures } from './store-figures.js';

const INSERT = new URL('./engine-insert.js', import.meta.url);
const FIGURES = new URL('./store-figures.js', import.meta.url);

/** The product's store, however it is filled. */
abstract class OurStore implements Keeper {
  abstract readonly name: string;
  abstract readonly how: string;
  readonly format = 'combined';
  readonly program = process.execPath;

  readonly prepare: NonNullable<Keeper['prepare']> = ({ directory, log }) => createApp(directory, log);

  abstract take(place: Place, file: string, kill?: CommandOptions['kill']): Promise<Ran>;

  async count(place: Place): Promise<Requests> {
    const { counted, kept } = await this.readFigures(place);
    return { counted, kept };
  }

  async merge(place: Place): Promise<number> {
    return (await this.readFigures(place, 'merge')).bytes;
  }

  protected runScript(script: URL, { directory, log }: Place, args: string[], kill?: CommandOptions['kill']) {
    const path = fileURLToPath(script);
    return runCommand(this.program, [path, ...args], {
      env: { DATA_DIR: directory },
      log,
      ...(kill !== undefined && { kill }),
    });
  }

  private async readFigures(place: Place, ...args: string[]): Promise<StoreFigures> {
    return JSON.parse((await this.runScript(FIGURES, place, args)).output) as StoreFigures;
  }
}

export class OurImport extends OurStore {
  readonly name = 'ours, import';
  readonly how = 'command line';

  take({ directory, log }: Place, file: string, kill?: CommandOptions['kill']): Promise<Ran> {
    return runCli(directory, log, ['import', file, '--app', '1'], kill);
  }
}

export class OurService extends OurStore {
  readonly name = 'ours, service';
  readonly how = 'POST /v1/requests';

  async take({ directory, log }: Place, file: string, kill?: CommandOptions['kill']): Promise<Ran> {
    const created = await runCli(directory, log, ['write-token', 'create', '--app', '1']);
    const { token } = JSON.parse(created.output) as { token: string };
    const [port, collectorPort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${collectorPort}`;
    const env = {
      DATA_DIR: directory,
      HOST: '127.0.0.1',
      PORT: String(port),
      COLLECTOR_PORT: String(collectorPort),
      COLLECTOR_GRPC_PORT: 'off',
    };
    const start = [...SERVICE_NODE_OPTIONS, join(ROOT, 'dist/main.cjs')];
    const options = { env, log, readyUrl: `${url}/health/ready` };
    return runServer(this.program, start, options, (server) =>
      sendFile(
        `${url}/v1/requests?format=${this.format}`,
        { Authorization: `Bearer ${token}` },
        readFileSync(file, 'utf8'),
        server,
        kill,
      ),
    );
  }
}

/** The engine alone: see `engine-insert.ts`. */
export class Engine extends OurStore {
  readonly name = 'the engine alone';
  readonly how = 'INSERT … SELECT FROM file, into our tables';

  override readonly prepare = async (place: Place, file: string) => {
    await createApp(place.directory, place.log);
    await this.runScript(INSERT, place, ['names', file]);
  };

  take(place: Place, file: string, kill?: CommandOptions['kill']): Promise<Ran> {
    return this.runScript(INSERT, place, ['requests', file], kill);
  }
}
