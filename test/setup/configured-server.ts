import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endProcess } from './end-process.js';

const MAIN = fileURLToPath(new URL('./clickhouse-server/main.ts', import.meta.url));
const TYPESCRIPT = new URL('./typescript.js', import.meta.url).href;

/** What the engine is configured with: elements of a server's `config.xml`, and of its only user. */
export interface Configuration {
  server?: string;
  /** The user's settings profile. */
  profile?: string;
  /** GRANTs of the user without its name; left out: all rights. */
  grants?: readonly string[];
}

/**
 * The tests' ClickHouse over a data directory that is there already, with a configuration of the engine: the
 * embedded engine reads one from its working directory, as a server does.
 */
export class ConfiguredServer {
  readonly password = 'secret';

  private constructor(
    private readonly child: ChildProcess,
    private readonly place: string,
    readonly user: string,
    readonly url: string,
  ) {}

  static async start(
    dataDirectory: string,
    user: string,
    configuration: Configuration,
  ): Promise<ConfiguredServer> {
    const place = mkdtempSync(join(tmpdir(), 'configured-'));
    const users = join(place, 'users.xml');
    writeFileSync(join(place, 'config.xml'), configXml(configuration, users));
    writeFileSync(users, usersXml(configuration));
    const child = spawn(
      process.execPath,
      ['--import', TYPESCRIPT, MAIN, dataDirectory, '0', user, 'secret'],
      {
        cwd: place,
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      },
    );
    const started = await Promise.race([
      once(child, 'message') as Promise<[{ port: number }]>,
      once(child, 'exit').then(() => undefined),
    ]);
    if (!started) throw new Error('The store did not start');
    return new ConfiguredServer(child, place, user, `http://127.0.0.1:${started[0].port}`);
  }

  /** Variables with which the product finds it. */
  get env(): NodeJS.ProcessEnv {
    return {
      CLICKHOUSE_URL: this.url,
      CLICKHOUSE_USER: this.user,
      CLICKHOUSE_PASSWORD: this.password,
      // The name that the embedded engine gives its database.
      CLICKHOUSE_DATABASE: 'default',
    };
  }

  async stop() {
    await endProcess(this.child, 'SIGKILL');
    rmSync(this.place, { recursive: true, force: true });
  }
}

function configXml({ server = '' }: Configuration, users: string): string {
  return `<clickhouse><logger><level>none</level></logger><users_config>${users}</users_config>${server}</clickhouse>`;
}

function usersXml({ profile = '', grants }: Configuration): string {
  const queries = grants?.map((grant) => `<query>${grant}</query>`).join('\n');
  const rights = queries === undefined ? '' : `<grants>${queries}</grants>`;
  return `<clickhouse>
<profiles><default>${profile}</default></profiles>
<quotas><default/></quotas>
<users><default>
<password/><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>${rights}
</default></users>
</clickhouse>`;
}
