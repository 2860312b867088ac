import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { DCLinter } from 'dclint';
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config } from '../../src/config/config.js';
import { PRODUCT_VERSION } from '../../src/config/version.js';
import { eventually } from '../setup/eventually.js';
import { freePort } from '../setup/free-port.js';
import { exchangeBytes } from '../setup/raw-http.js';
import { captureProcess } from '../setup/secrets/run.js';
import { describeEmbedded } from '../setup/store.js';

interface Service {
  image?: string;
  build?: unknown;
  environment?: Record<string, string>;
  env_file?: { path: string; required: boolean }[];
  deploy?: { resources?: { limits?: { cpus?: string; memory?: string } } };
  ports?: string[];
  entrypoint?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  user?: string;
  tmpfs?: string[];
  logging?: unknown;
  command?: string[];
}

const COMPOSE = ['docker-compose.yml', 'docs/cluster/docker-compose.yml'];
const BY_DIGEST = /^[a-z/-]+:\d[\w.-]*@sha256:[0-9a-f]{64}$/;
/** A variable that has to be set: without it `docker compose` says so and starts nothing. */
const REQUIRED = /\$\{\w+:\?[^}]+\}/;

/** `${NAME:-default}` and `${NAME:?message}`, as Compose does. */
const interpolate = (text: string, env: Record<string, string>) =>
  text.replace(/\$\{(\w+):([-?])([^}]*)\}/g, (_, name: string, kind: string, rest: string) => {
    if (!env[name] && kind === '?') throw new Error(`${name} ${rest}`);
    return env[name] === '' ? rest : (env[name] ?? rest);
  });
const parse = (file: string): unknown =>
  load(readFileSync(file, 'utf8'), { schema: CORE_SCHEMA.withTags(mergeTag) });
const listServices = (file: string) =>
  Object.entries((parse(file) as { services: Record<string, Service> }).services);
const findService = (file: string, name: string) => listServices(file).find(([key]) => key === name)![1];
/** The script of a service, as the shell gets it from docker compose. */
const findScript = (file: string, name: string) =>
  findService(file, name).command!.at(-1)!.replaceAll('$$', '$');

describe('images', () => {
  it('are made from one that is named by its digest', () => {
    const from = [...readFileSync('Dockerfile', 'utf8').matchAll(/^FROM (\S+)(?: AS (\S+))?$/gm)];
    const stages = new Set(from.map(([, , stage]) => stage));
    const others = from.map(([, image = '']) => image).filter((image) => !stages.has(image));
    expect(others).toEqual([expect.stringMatching(BY_DIGEST)]);
    expect(others[0]).toMatch(new RegExp(`^node:${readFileSync('.nvmrc', 'utf8').trim()}\\.`));
  });

  it.each(COMPOSE)('are named by their digest in %s', (file) => {
    const images = listServices(file).flatMap(([, { build, image = '' }]) => (build ? [] : [image]));
    expect(images.length).toBeGreaterThan(2);
    // The digest of the Keeper of the cluster example is not known here.
    expect(images.filter((image) => !BY_DIGEST.test(image))).toEqual(
      file === 'docker-compose.yml' ? [] : ['clickhouse/clickhouse-keeper:26.7.5.10'],
    );
  });
});

describe('docs/request-analytics.service', () => {
  const unit = readFileSync('docs/request-analytics.service', 'utf8');
  const settings = new Map(
    [...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  if (!hasSystemd) process.stderr.write('skipped: systemd verifies the unit, because it is not here\n');

  (hasSystemd ? it : it.skip)('is verified by systemd, which finds little that it is exposed by', () => {
    const directory = mkdtempSync(join(tmpdir(), 'unit-'));
    const file = join(directory, 'request-analytics.service');
    // Both are here in other places.
    const here = unit
      .replace('/usr/bin/node', process.execPath)
      .replaceAll('/opt/request-analytics', process.cwd());
    writeFileSync(file, here);
    const run = (...args: string[]) => spawnSync('systemd-analyze', [...args, file], { encoding: 'utf8' });
    const verified = run('verify', '--man=no');
    expect([verified.status, verified.stdout + verified.stderr]).toEqual([0, '']);
    // Tenths of its levels; 96 for a unit without settings.
    expect(run('security', '--offline=true', '--threshold=20')).toMatchObject({ status: 0 });
    rmSync(directory, { recursive: true });
  });

  it('runs a command that exists, is not restarted with an invalid configuration, and may stop in order', () => {
    expect(settings.get('ExecStart')).toBe('/usr/bin/node /opt/request-analytics/dist/cli.cjs serve');
    expect(settings.get('RestartPreventExitStatus')).toBe('78');
    expect(Number(settings.get('TimeoutStopSec'))).toBeGreaterThan(9.5 + 12);
    // The default of DATA_DIR is below it.
    expect(settings.get('WorkingDirectory')).toBe(`/var/lib/${settings.get('StateDirectory')}`);
  });

  it('limits memory as the image does, and npm start the young generation', () => {
    const image = readFileSync('Dockerfile', 'utf8');
    const limits = settings.get('Environment')?.split(' ') ?? [];
    expect(limits.map((limit) => limit.split('=')[0])).toEqual([
      'NODE_OPTIONS',
      'MALLOC_ARENA_MAX',
      'MALLOC_MMAP_THRESHOLD_',
    ]);
    for (const limit of limits) expect(image).toMatch(new RegExp(`^(?:ENV)? +${limit}(?: |$)`, 'm'));
    const { scripts } = parse('package.json') as { scripts: Record<string, string> };
    const [nodeOptions = ''] = limits;
    for (const name of ['start', 'collector'])
      expect(scripts[name]).toContain(nodeOptions.replace('NODE_OPTIONS=', 'node '));
  });
});

it('the Helm chart is of this version, and makes accounts with the image and the script of docker-compose.yml', () => {
  const chart = parse('docs/helm/Chart.yaml') as { version: string; appVersion: string };
  expect([chart.version, chart.appVersion]).toEqual([PRODUCT_VERSION, PRODUCT_VERSION]);
  const { accounts } = parse('docs/helm/values.yaml') as { accounts: { image: string } };
  expect(accounts.image).toBe(findService('docker-compose.yml', 'accounts').image);
  const script = findScript('docker-compose.yml', 'accounts')
    .replace('--host clickhouse', '--host "$CLICKHOUSE_HOST" --port "$CLICKHOUSE_PORT"')
    .replace("'CREATE DATABASE IF NOT EXISTS request_analytics'", '"CREATE DATABASE IF NOT EXISTS $DATABASE"')
    .replaceAll('--database request_analytics', '--database "$DATABASE"');
  const template = readFileSync('docs/helm/templates/jobs.yaml', 'utf8').replaceAll(/^ {14}/gm, '');
  expect(template).toContain(script);
});

// Compose looks for .env beside the first file of -f.
it('the command of the cluster example names the .env that its comment speaks of', () => {
  const file = 'docs/cluster/docker-compose.yml';
  expect(readFileSync(file, 'utf8')).toContain(`#   docker compose --env-file .env -f ${file} up\n`);
});

it('the tests on a server use the images that docker-compose.yml starts', () => {
  const { jobs } = parse('.github/workflows/ci.yml') as {
    jobs: { server: { services: Record<string, Service> } };
  };
  for (const [name, { image }] of Object.entries(jobs.server.services))
    expect([name, image]).toEqual([name, findService('docker-compose.yml', name).image]);
});

describe.each(COMPOSE)('passwords in %s', (file) => {
  it('have no default', () => {
    const variables = listServices(file).flatMap(([, { environment = {} }]) => Object.entries(environment));
    const secret = variables.filter(([name]) =>
      /PASSWORD|SECRET|AUTH|REDIS_URL|^(READER|COLLECTOR|OWNER)$/.test(name),
    );
    expect(secret.length).toBeGreaterThan(8);
    // Empty: passwords of other services, which `env_file` would bring. Off: COLLECTOR of the API.
    const others = secret.filter(([, value]) => !REQUIRED.test(value) && !['', 'off'].includes(value));
    expect(others).toEqual([]);
    expect(readFileSync(file, 'utf8')).toMatch(/^(?!.*(PASSWORD|SECRET):-\w)/s);
  });

  it('are in no argument', () => {
    const texts = listServices(file).flatMap(([, service]) => [
      ...(service.entrypoint ?? []),
      ...(service.command ?? []),
    ]);
    for (const text of texts) expect(text).not.toMatch(/--password|--param_|--requirepass|redis-cli .*-a\b/);
  });
});

/** Rules of taste: the order of keys, and ports that are public on purpose. */
const OTHER_RULES = [
  'no-quotes-in-volumes',
  'no-unbound-port-interfaces',
  'service-keys-order',
  'service-ports-alphabetical-order',
  'services-alphabetical-order',
  'top-level-properties-order',
];

it.each([...COMPOSE, 'compose.small.yml'])('%s has the form of the Compose specification', (file) => {
  const rules = Object.fromEntries(OTHER_RULES.map((rule) => [rule, 0 as const]));
  const linter = new DCLinter({ rules, quiet: false, debug: false, exclude: [] });
  const results = linter.lintFiles([file], false) as { messages: unknown[] }[];
  expect(results.flatMap(({ messages }) => messages)).toEqual([]);
});

it('compose.small.yml hardens its one container as docker-compose.yml does, with a valid configuration', () => {
  const [[, small], ...others] = listServices('compose.small.yml') as [[string, Service], ...unknown[]];
  expect(others).toEqual([]);
  const api = findService('docker-compose.yml', 'api');
  for (const setting of ['read_only', 'cap_drop', 'security_opt', 'user', 'tmpfs', 'logging'] as const)
    expect([setting, small[setting]]).toEqual([setting, api[setting]]);
  const config = new Config(small.environment);
  expect([config.dataDir, config.clickhouse.url, config.collector.isBesideApi]).toEqual([
    '/data',
    undefined,
    true,
  ]);
  expect(small.ports).toEqual([
    '${PORT:-3000}:3000',
    '${COLLECTOR_PORT:-3001}:3001',
    '${PUBLISHED_GRPC_PORT:-4317}:4317',
  ]);
});

it.each([...COMPOSE, 'compose.small.yml'])('%s publishes ports without OTLP over gRPC too', (file) => {
  const dotEnv = { COLLECTOR_GRPC_PORT: 'off' };
  const mapped = listServices(file).flatMap(([, { ports = [] }]) => ports);
  expect(mapped.length).toBeGreaterThan(2);
  for (const port of mapped) expect(interpolate(port, dotEnv)).toMatch(/^(?:127\.0\.0\.1:)?\d+:\d+$/);
});

it.each([
  ['docker-compose.yml', 'collector'],
  ['compose.small.yml', 'app'],
])('%s lets .env turn OTLP over gRPC off', (file, name) => {
  const { environment, env_file } = findService(file, name);
  expect(environment).not.toHaveProperty('COLLECTOR_GRPC_PORT');
  expect(env_file).toEqual([{ path: '.env', required: false }]);
});

it('the image has the command that the documents name', () => {
  const text = readFileSync('Dockerfile', 'utf8');
  expect(text).toContain('chmod 755 dist/cli.cjs');
  expect(text).toContain('ln -s /app/dist/cli.cjs /usr/local/bin/request-analytics');
});

it('a tag pushes the image in both forms, the chart and the package', () => {
  const { jobs } = parse('.github/workflows/ci.yml') as {
    jobs: {
      release: { if: string; needs: string[]; steps: { run?: string; with?: Record<string, unknown> }[] };
    };
  };
  const { if: condition, needs, steps } = jobs.release;
  expect([condition, needs]).toEqual([
    "startsWith(github.ref, 'refs/tags/v')",
    ['checks', 'server', 'image'],
  ]);
  const pushed = steps.filter((step) => step.with?.push === true).map((step) => step.with?.['build-args']);
  expect(pushed).toEqual([undefined, 'EMBEDDED=1']);
  const commands = steps.map(({ run = '' }) => run).join('\n');
  expect(commands).toMatch(/^helm push /m);
  expect(commands).toMatch(/^npm publish --ignore-scripts --access public$/m);
  expect(JSON.parse(readFileSync('package.json', 'utf8'))).not.toHaveProperty('private');
});

describe('docker-compose.yml', () => {
  const file = 'docker-compose.yml';
  /** A `.env` with the passwords, and every variable of `.env.example` at another value than its default. */
  const DECIDED_INSIDE = ['HOST', 'PORT', 'COLLECTOR', 'COLLECTOR_PORT', 'METRICS_PORT'];
  const STORE = /^(CLICKHOUSE_(URL|USER|PASSWORD|DATABASE)|REDIS_URL|DATA_DIR|.*_FILE)$/;
  const documented = [...readFileSync('.env.example', 'utf8').matchAll(/^([A-Z_]+)=(.*)$/gm)].map(
    ([, name = '', value = '']) => [name, value] as const,
  );
  const passwords = [
    'CLICKHOUSE_ADMIN',
    'CLICKHOUSE_OWNER',
    'CLICKHOUSE_READER',
    'CLICKHOUSE_COLLECTOR',
    'REDIS',
  ];
  const dotEnv = Object.fromEntries([
    ...documented.map(([name, value]) => [name, /^\d+$/.test(value) ? String(Number(value) + 1) : value]),
    ...passwords.map((name) => [`${name}_PASSWORD`, `secret of ${name}`]),
    ['TOKEN_SECRET', 'x'.repeat(32)],
    ['TRUST_PROXY', '1'],
  ]) as Record<string, string>;
  /** The variables of a service in its container. */
  const findEnvironment = (name: string) => {
    const { environment = {}, env_file = [] } = findService(file, name);
    const entries = Object.entries(environment).map(([key, value]) => [key, interpolate(value, dotEnv)]);
    return { ...(env_file.length > 0 && dotEnv), ...Object.fromEntries(entries) } as Record<string, string>;
  };

  it.each(['api', 'collector', 'cli'])(
    'gives %s every variable of .env, and no password of another',
    (name) => {
      const environment = findEnvironment(name);
      for (const [variable] of documented)
        if (!DECIDED_INSIDE.includes(variable) && !STORE.test(variable))
          expect([variable, environment[variable]]).toEqual([variable, dotEnv[variable]]);
      const secrets = Object.values(environment).flatMap((value) => value.match(/secret of \w+/g) ?? []);
      expect(secrets).toHaveLength(2);
      expect(() => new Config(environment)).not.toThrow();
    },
  );

  it('starts on 2 cores and 4 GiB', () => {
    const limits = listServices(file)
      .filter(([name]) => name !== 'cli')
      .map(([name, { deploy }]) => ({ name, ...deploy?.resources?.limits }));
    for (const { name, cpus = '0' } of limits) expect([name, Number(cpus) <= 2]).toEqual([name, true]);
    const running = limits.filter(({ name }) => ['clickhouse', 'redis', 'api', 'collector'].includes(name));
    const units: Record<string, number> = { m: 1, g: 1024 };
    const megabytes = running.map(({ memory = '' }) => {
      const [, number, unit = ''] = /^(\d+)([mg])$/.exec(interpolate(memory, dotEnv)) ?? [];
      return Number(number) * (units[unit] ?? NaN);
    });
    expect(megabytes.reduce((sum, megabyte) => sum + megabyte, 0)).toBeLessThanOrEqual(4_096);
  });

  it('offers metrics on the machine itself only', () => {
    for (const name of ['api', 'collector'])
      expect(findService(file, name).ports?.map((port) => interpolate(port, dotEnv))).toContainEqual(
        expect.stringMatching(/^127\.0\.0\.1:\d+:9464$/),
      );
  });

  it('bounds the tables in which ClickHouse logs about itself', () => {
    const tables = parse('clickhouse/config/system-logs.yaml') as Record<string, Record<string, unknown>>;
    for (const [name, table] of Object.entries(tables)) {
      expect(name).toMatch(/_log$/);
      if (table['@remove'] !== 1)
        expect(table).toMatchObject({ '@replace': 1, ttl: expect.stringContaining('7 DAY') });
    }
  });
});

/** Words that a shell, SQL or a configuration file could take for their own. */
const PASSWORDS = { READER: `it's $HOME`, COLLECTOR: 'back\\slash \\\' "', OWNER: '`id`; {x:String} -- ' };

// Statements are read by the engine that is here.
describeEmbedded.each(COMPOSE)('the accounts of %s', (file) => {
  const place = mkdtempSync(join(tmpdir(), 'accounts-'));

  afterAll(() => {
    rmSync(place, { recursive: true });
  });

  it('get their passwords as they are, and over standard input', async () => {
    const client = join(place, 'clickhouse-client');
    // Keeps what the client was started with and what it read.
    writeFileSync(
      client,
      `#!/bin/sh\necho "$@" >> ${place}/arguments\ncase "$*" in *--quer*) ;; *) cat >> ${place}/input ;; esac\n`,
    );
    chmodSync(client, 0o755);
    const script = findScript(file, 'accounts').replaceAll(
      '/accounts/',
      `${process.cwd()}/clickhouse/accounts/`,
    );
    const env = { PATH: `${place}${delimiter}${process.env.PATH}`, ...PASSWORDS };
    execFileSync('/bin/bash', ['-euc', script], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const given = readFileSync(join(place, 'arguments'), 'utf8');
    expect(given).toContain('--queries-file');
    for (const password of Object.values(PASSWORDS)) expect(given).not.toContain(password);
    const input = readFileSync(join(place, 'input'), 'utf8');
    expect(input).toContain(readFileSync('clickhouse/accounts/users.sql', 'utf8'));

    const store = await ClickHouse.open(
      new Config({ DATA_DIR: join(place, 'data'), EMBEDDED_SESSIONS: '1' }),
    );
    try {
      for (const line of input.split('\n').filter((part) => part.startsWith('SET ')))
        await store.command(line);
      await store.command(
        `CREATE TABLE given ENGINE = Memory AS SELECT {reader_password:String} AS READER,
           {collector_password:String} AS COLLECTOR, {owner_password:String} AS OWNER`,
      );
      expect(await store.rows('test.given', 'SELECT * FROM given')).toEqual([PASSWORDS]);
    } finally {
      await store.close();
    }
  });
});

const hasRedis = (process.env.PATH ?? '').split(delimiter).some((path) => {
  try {
    execFileSync(join(path, 'redis-server'), ['--version']);
    return true;
  } catch {
    return false;
  }
});

(hasRedis ? describe : describe.skip).each(COMPOSE)('Redis of %s', (file) => {
  it('asks for its password, which is in no argument', async () => {
    const password = 'a1b2c3d4e5f6a1b2c3d4e5f6';
    const port = await freePort();
    const script = findScript(file, 'redis').replace('--appendonly yes', `--port ${port} --save ''`);
    const redis = spawn('/bin/sh', ['-euc', script], {
      env: { PATH: process.env.PATH, REDISCLI_AUTH: password },
      cwd: tmpdir(),
    });
    captureProcess('redis', redis);
    const call = (...commands: string[]) =>
      exchangeBytes(`http://127.0.0.1:${port}`, [...commands, 'QUIT', ''].join('\r\n')).catch(String);
    try {
      await eventually(async () => (await call(`AUTH ${password}`, 'PING')).startsWith('+OK\r\n+PONG'));
      expect(await call('PING')).toMatch(/^-NOAUTH/);
      const args = readFileSync(`/proc/${redis.pid}/cmdline`, 'utf8');
      expect([args.includes('redis-server'), args.includes(password)]).toEqual([true, false]);
    } finally {
      redis.kill();
      await once(redis, 'close');
    }
  });
});

it('docs/helm/values.yaml lets bodies through that the collector accepts', () => {
  const limits = readFileSync('.env.example', 'utf8').matchAll(
    /^COLLECTOR_MAX_(?:BODY|OTLP|REQUESTS)_MB=(\d+)$/gm,
  );
  const largest = Math.max(...Array.from(limits, ([, megabytes]) => Number(megabytes)));
  expect(readFileSync('docs/helm/values.yaml', 'utf8')).toContain(`proxy-body-size: ${largest}m\n`);
});
