import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, type Server, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { Config, ConfigError } from '../../src/config/config.js';
import { freePort } from '../setup/free-port.js';
import { ProductProcess } from '../setup/product-process.js';
import { describeEmbedded } from '../setup/store.js';

const NOT_WHOLE = ['many', '-1', '1.5', '1e3', '0x10', '12abc', ' 5', '99999999999'];
const NOT_PORTS = ['many', '0', '65536', '1.5', '-1', '80 80', '80\n80'];

/** Values that are refused, by the variable that they are refused for. */
const WRONG: Record<string, readonly string[]> = {
  PORT: NOT_PORTS,
  HOST: ['a b', 'http://localhost', 'localhost:3000', '[::1]', 'a..b', '-', '127.0.0.1/8', '*'],
  COLLECTOR: ['yes', 'true', '0'],
  COLLECTOR_PORT: NOT_PORTS,
  COLLECTOR_GRPC_PORT: [...NOT_PORTS, 'none', '3000', '3001'],
  METRICS_PORT: [...NOT_PORTS, '3000', '3001'],
  CLICKHOUSE_URL: ['localhost', 'localhost:8123', 'http//x', 'tcp://localhost:9000', 'http://'],
  REDIS_URL: ['localhost', 'localhost:6379', 'redis//x', 'http://localhost:6379'],
  CLICKHOUSE_MAX_CONNECTIONS: [...NOT_WHOLE, '0', '1001'],
  UV_THREADPOOL_SIZE: [...NOT_WHOLE, '0', '1025'],
  EMBEDDED_SESSIONS: [...NOT_WHOLE, '0', '65'],
  QUERY_TIMEOUT_SECONDS: [...NOT_WHOLE, '0', '601'],
  QUERY_MAX_MEMORY_MB: [...NOT_WHOLE, '15'],
  QUERY_MAX_READ_MB: [...NOT_WHOLE, '15'],
  QUERY_MAX_RESULT_MB: [...NOT_WHOLE, '0'],
  RESPONSE_MIN_KB_PER_SECOND: [...NOT_WHOLE, '4'],
  MAX_UNREAD_RESPONSES_MB: [...NOT_WHOLE, '0'],
  MAX_EXPORTS: [...NOT_WHOLE, '0', '1001'],
  EXPORT_MAX_ROWS: [...NOT_WHOLE, '0'],
  EXPORT_MAX_SECONDS: [...NOT_WHOLE, '0', '604801'],
  RATE_LIMIT_PER_MINUTE: [...NOT_WHOLE, '0'],
  TRACES_RATE_LIMIT_PER_SECOND: [...NOT_WHOLE, '0'],
  TRACES_RATE_LIMIT_PER_MINUTE: [...NOT_WHOLE, '0'],
  AUTH_FAILURES_PER_MINUTE: [...NOT_WHOLE, '0'],
  COLLECTOR_RATE_LIMIT_PER_MINUTE: [...NOT_WHOLE, '0'],
  COLLECTOR_MAX_BODY_MB: [...NOT_WHOLE, '0', '257'],
  COLLECTOR_MAX_LOG_FILE_MB: [...NOT_WHOLE, '0', '1025'],
  COLLECTOR_MAX_OTLP_MB: [...NOT_WHOLE, '0', '257'],
  COLLECTOR_MAX_REQUESTS_MB: [...NOT_WHOLE, '0', '1025'],
  COLLECTOR_MAX_UNPACK_RATIO: [...NOT_WHOLE, '1', '10001'],
  COLLECTOR_MAX_BODY_SECONDS: [...NOT_WHOLE, '0', '3601'],
  COLLECTOR_MAX_BODY_HEAP_MB: [...NOT_WHOLE, '31', '65537'],
  COLLECTOR_MAX_APP_SECONDS: [...NOT_WHOLE, '0', '61'],
  COLLECTOR_SPAN_COUNT_DELAY_SECONDS: [...NOT_WHOLE, '3601'],
  COLLECTOR_MAX_SPAN_WEIGHT: [...NOT_WHOLE, '0', '1000001'],
  COLLECTOR_MAX_IN_FLIGHT_MB: [...NOT_WHOLE, '0', '16385'],
  MAX_ENDPOINTS_PER_APP: [...NOT_WHOLE, '0', '1000001'],
  MAX_CONSUMERS_PER_APP: [...NOT_WHOLE, '0', '10000001'],
  MAX_CONSUMER_GROUPS_PER_APP: [...NOT_WHOLE, '0', '1000001'],
  MAX_ENVIRONMENTS_PER_APP: [...NOT_WHOLE, '0', '100001'],
  REDACTION: ['yes', 'true', '1'],
  REDACT_HEADERS: [',', 'a,', '-', 'x'.repeat(129)],
  REDACT_QUERY_PARAMETERS: [',', 'a,,b', '*'],
  REDACT_JSON_PATHS: ['$', '$.', '$.a..', 'a[', 'a[b]', '$.a,', 'a b', '$.a[?(@.b)]'],
  REDACT_FORMS: ['jwt,', 'none,jwt', 'cards', '*'],
  REDACT_EXCEPT: [',', '_'],
  CORS_ORIGINS: [
    'example.com',
    'https://example.com/',
    'https://a.example/b',
    '*,https://a.example',
    'null',
    'ftp:x',
  ],
  PUBLIC_PATH: [
    'analytics',
    '/',
    '/analytics/',
    '//',
    '/a//b',
    '/a b',
    '/a?b',
    '/a%20b',
    '/:a',
    '/*',
    '/{a}',
    '/..',
    '/a/./b',
    '/é',
    'https://a.example/x',
  ],
  TRUST_PROXY: [
    'yes',
    '-1',
    '11',
    '99999999999999999999',
    '10.0.0.0/33',
    '10.0.0.0/0',
    '::1/129',
    '10.0.0.0/8/8',
    'loopback, nobody',
    'a.example',
  ],
  CACHE_TTL_MS: [...NOT_WHOLE, '9001'],
  SHUTDOWN_DELAY_MS: [...NOT_WHOLE, '600001'],
  LOG_LEVEL: ['loud', 'INFO'],
  AUDIT_READS: ['yes', 'ON', 'true'],
  DOCS: ['yes', 'ON', 'true'],
  DASHBOARD: ['yes', 'ON', 'true'],
  MCP: ['yes', 'ON', 'true'],
  SENTRY_URL: [
    'acme.sentry.io',
    'javascript:alert(1)',
    'https://acme.sentry.io/?a=1',
    'https://me:pw@sentry.io',
  ],
  ALERTS: ['yes', 'ON'],
  ALERTS_FILE: ['/not/there.yaml'],
  ALERT_GRACE_SECONDS: ['-1', '3601', '1.5', 'x'],
  ALERT_ALLOW_PRIVATE: ['yes', 'ON'],
  ALERT_WEBHOOK_SECRET: ['secret', 'whsec_', 'whsec_c2hvcnQ=', 'whsec_-'],
  ALERT_SMTP_URL: ['mail.example.com', 'https://mail.example.com'],
  ALERT_DASHBOARD_URL: ['analytics.example.com', 'ftp://localhost'],
  API_URL: ['localhost:3000', 'ftp://localhost', 'http://'],
  API_KEY: ['short.key', `abcdefg.${'x'.repeat(31)}`],
  COUNTRY_DATABASE: ['/nowhere/countries.mmdb'],
  DEMO_API_KEY: ['short.key', `abcdefg.${'x'.repeat(31)}`],
  TOKEN_SECRET: ['a', 'x'.repeat(31), ' '.repeat(40)],
  OTEL_EXPORTER_OTLP_ENDPOINT: ['localhost', 'localhost:4318', 'grpc://localhost:4317', 'http://'],
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ['grpc://localhost:4317'],
  OTEL_EXPORTER_OTLP_PROTOCOL: ['grpc'],
  OTEL_TRACES_EXPORTER: ['zipkin'],
  OTEL_TRACES_SAMPLER: ['jaeger_remote'],
  OTEL_TRACES_SAMPLER_ARG: ['many', '-0.1', '1.1', '1e-1', '0x1', ' ', '50%', '.'],
  OTEL_SDK_DISABLED: ['yes', '1', 'off'],
};
/** What OpenTelemetry's other variables say counts only where traces are made. */
const TRACED = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' };
/** Any text will do, or only trying tells. */
const FREE = [
  'ALERT_MAIL_FROM',
  'AUDIT_LOG',
  'DATA_DIR',
  'CLICKHOUSE_USER',
  'CLICKHOUSE_PASSWORD',
  'CLICKHOUSE_DATABASE',
];

/** A secret can be in a file instead, which a variable of its own names. */
const SECRETS = {
  CLICKHOUSE_URL: 'https://store.example:8443/',
  CLICKHOUSE_PASSWORD: ' correct horse ',
  REDIS_URL: 'rediss://:secret@redis.example/1',
  TOKEN_SECRET: 'y'.repeat(40),
  DEMO_API_KEY: `abcdefg.${'x'.repeat(32)}`,
  API_KEY: `abcdefg.${'y'.repeat(32)}`,
  ALERT_WEBHOOK_SECRET: `whsec_${'z'.repeat(32)}`,
  ALERT_SMTP_URL: 'smtp://user:secret@mail.example',
} as const;
const FILES = Object.keys(SECRETS).map((name) => `${name}_FILE`);

const EXAMPLE = readFileSync('.env.example', 'utf8').matchAll(/^([A-Z_]+)=(.*)$/gm);
const EXAMPLES = [...EXAMPLE].map(([, name = '', value = '']) => [name, value] as const);
const isOurs = (name: string) => !name.startsWith('OTEL_');

describe('the configuration', () => {
  it('is all in .env.example, with its defaults', () => {
    const source = readFileSync('src/config/config.ts', 'utf8');
    const specified = [...source.matchAll(/^ {2}([A-Z][A-Z_]+): \w/gm)].map(([, name]) => name);
    expect(
      EXAMPLES.map(([name]) => name)
        .filter(isOurs)
        .sort(),
    ).toEqual([...specified, ...FILES].sort());
    expect(specified.sort()).toEqual([...Object.keys(WRONG).filter(isOurs), ...FREE].sort());
    expect(new Config(Object.fromEntries(EXAMPLES))).toEqual(new Config({}));
  });

  it.each(Object.keys(WRONG))('is refused in one line that names %s', (name) => {
    for (const value of WRONG[name]!) {
      const read = () => new Config({ ...(isOurs(name) ? {} : TRACED), [name]: value });
      expect(read).toThrow(ConfigError);
      expect(read).toThrow(new RegExp(`^Invalid configuration\\. ${name}: [^\\n]+$`));
    }
  });

  it.each([
    ['TRUST_PROXY', '10.0.0.0/8, 127.0.0.1, ::1, fd00::/8, loopback, uniquelocal, 10.0.0.0/255.0.0.0'],
    ['CLICKHOUSE_URL', 'https://user@store.example:8443/'],
    ['REDIS_URL', 'rediss://:p%20w@redis.example/1'],
    ['COUNTRY_DATABASE', 'package.json'],
    ['CACHE_TTL_MS', '0'],
    ['CORS_ORIGINS', '*'],
    ['CORS_ORIGINS', 'https://a.example, http://localhost:5173'],
    ['REDACT_HEADERS', 'X-Customer, x-größe'],
    ['REDACT_JSON_PATHS', "$.a, b[*].c, $..d, $['a b'][0], $[*], x.*"],
    ['REDACT_FORMS', 'none'],
    ['PORT', ''],
    ['PUBLIC_PATH', '/analytics'],
    ['PUBLIC_PATH', '/team-1/v2.0/~x_y/...'],
    ['HOST', 'localhost'],
    ['HOST', '::'],
    ['HOST', 'api-1.internal'],
    ['TRUST_PROXY', '10'],
    ['TOKEN_SECRET', 'x'.repeat(32)],
  ])('takes %s=%s', (name, value) => {
    expect(() => new Config({ [name]: value })).not.toThrow();
  });

  it.each([
    ['REDACT_HEADER', 'REDACT_HEADERS'],
    ['redact_headers', 'REDACT_HEADERS'],
    ['DATADIR', 'DATA_DIR'],
    ['data_dir', 'DATA_DIR'],
    ['DATA-DIR', 'DATA_DIR'],
    ['APIURL', 'API_URL'],
    ['RATE_LIMT_PER_MINUTES', 'RATE_LIMIT_PER_MINUTE'],
    ['CLICKHOUSE_PASSWORDFILE', 'CLICKHOUSE_PASSWORD_FILE'],
  ])('warns of %s, which has no effect where %s may be meant', (name, meant) => {
    const warning = `${name} has no effect: no variable has this name; ${meant} may be meant`;
    expect(new Config({ [name]: 'x', PATH: '/bin' }).warnings).toEqual([warning]);
  });

  it.each([
    ...['APP_URL', 'APP_KEYS', 'X_API_KEY', 'JAVA_DIR', 'HOME', 'HOSTNAME', 'host', 'docs'],
    ...['DATABASE_URL', 'CLICKHOUSE_DB', 'OTEL_SERVICE_NAME', ...FILES],
  ])('does not warn of %s', (name) => {
    expect(new Config({ [name]: '' }).warnings).toEqual([]);
  });

  describe('secrets in files', () => {
    const place = mkdtempSync(join(tmpdir(), 'secrets-'));
    const file = join(place, 'secret');

    afterAll(() => {
      rmSync(place, { recursive: true });
    });

    it.each(Object.entries(SECRETS))(
      'are read as %s would be, without the line feed at the end',
      (name, secret) => {
        for (const end of ['', '\n', '\r\n']) {
          writeFileSync(file, secret + end);
          expect(new Config({ [`${name}_FILE`]: file })).toEqual(new Config({ [name]: secret }));
        }
        expect(new Config({ [`${name}_FILE`]: '' })).toEqual(new Config({}));
      },
    );

    it.each(FILES)('are refused in one line that names %s and not what is in it', (name) => {
      writeFileSync(file, 'correct-horse');
      const variable = name.slice(0, -'_FILE'.length);
      const both = () => new Config({ [name]: file, [variable]: 'correct-horse' });
      expect(both).toThrow(`Invalid configuration. ${name}: must not be set together with ${variable}`);
      for (const content of ['', '\n', 'x'.repeat(70_000)]) {
        writeFileSync(file, content);
        expect(() => new Config({ [name]: file })).toThrow(
          `Invalid configuration. ${name}: must name a file that can be read and has a secret in it`,
        );
      }
      for (const path of [join(place, 'missing'), place, '/dev/zero', 'a\0b'])
        expect(() => new Config({ [name]: path })).toThrow(ConfigError);
    });

    it('are refused as the variable would be, without repeating them', () => {
      writeFileSync(file, 'correct-horse');
      for (const name of ['CLICKHOUSE_URL', 'REDIS_URL', 'TOKEN_SECRET', 'DEMO_API_KEY']) {
        const read = () => new Config({ [`${name}_FILE`]: file });
        expect(read).toThrow(new RegExp(`^Invalid configuration\\. ${name}: [^\\n]+$`));
        expect(read).toThrow(
          expect.objectContaining({ message: expect.not.stringContaining('correct-horse') }),
        );
      }
    });
  });

  it('is refused for everything that is wrong at once', () => {
    const read = () => new Config({ PORT: 'many', LOG_LEVEL: 'loud', REDIS_URL: 'x' });
    expect(read).toThrow(/^Invalid configuration\. (?=.*PORT: )(?=.*LOG_LEVEL: )(?=.*REDIS_URL: )[^\n]+$/);
  });

  it('is refused without repeating what may be a secret', () => {
    const secret = 'correct-horse';
    for (const name of [
      'REDIS_URL',
      'CLICKHOUSE_URL',
      'DEMO_API_KEY',
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'TOKEN_SECRET',
    ])
      expect(() => new Config({ [name]: `x//:${secret}@y` })).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining(secret) }),
      );
  });
});

// Processes with the engine in them.
describeEmbedded('a process with a wrong configuration', () => {
  const place = mkdtempSync(join(tmpdir(), 'configuration-'));

  afterAll(() => {
    rmSync(place, { recursive: true, force: true });
  });

  /** Runs a command, or none for `npm start`, in a directory of its own. */
  async function run(command: string, env: NodeJS.ProcessEnv) {
    const args = command.split(' ').filter(Boolean);
    const { code, out, err } = await ProductProcess.run(args, env, { cwd: place });
    return { code, out, err };
  }

  it.each(['', 'serve', 'collector'])('ends with 78 and one line: "%s"', async (entry) => {
    expect(await run(entry, { PORT: 'many' })).toEqual({
      code: 78,
      out: [],
      err: ['Invalid configuration. PORT: Invalid port input: "many"'],
    });
  });

  it.each(['migrate', 'team list', 'import x --app 1', 'demo'])(
    'ends with 78 and one line for people: %s',
    async (command) => {
      const { code, out, err } = await run(command, { CACHE_TTL_MS: '10000' });
      const people = err.filter((line) => !line.startsWith('{'));
      expect([code, out, people]).toEqual([
        78,
        [],
        ['error: Invalid configuration. CACHE_TTL_MS: must be a whole number from 0 to 9000'],
      ]);
      // The audit log has a line about the command.
      expect(err.length - people.length).toBeLessThanOrEqual(1);
    },
  );

  it('ends with 78 and one line when the file of a secret is missing', async () => {
    expect(await run('', { TOKEN_SECRET_FILE: join(place, 'missing') })).toEqual({
      code: 78,
      out: [],
      err: [
        'Invalid configuration. TOKEN_SECRET_FILE: must name a file that can be read and has a secret in it',
      ],
    });
  });

  it('reads .env where it is started, and the environment wins', async () => {
    writeFileSync(join(place, '.env'), 'PORT=many\n');
    expect(await run('', {})).toMatchObject({
      code: 78,
      err: [expect.stringContaining('PORT: ')],
    });
    const { err } = await run('', { PORT: '3000', LOG_LEVEL: 'loud' });
    expect(err).toEqual([expect.stringMatching(/^Invalid configuration\. LOG_LEVEL: ./)]);
    rmSync(join(place, '.env'));
    mkdirSync(join(place, '.env'));
    expect(await run('', {})).toMatchObject({
      code: 78,
      err: ['Invalid configuration. .env cannot be read (EISDIR)'],
    });
    rmSync(join(place, '.env'), { recursive: true });
  });

  it('says in the log and for people which variable has no effect', async () => {
    const env = { DATA_DIR: join(place, 'misspelled'), REDACT_HEADER: 'x-internal' };
    const warning = 'REDACT_HEADER has no effect: no variable has this name; REDACT_HEADERS may be meant';
    const { err } = await run('team create --name Acme', env);
    expect(err).toContain(`warning: ${warning}`);
    for (const entry of [['serve'], ['collector']]) {
      const service = await ProductProcess.start(entry, { ...env, METRICS_PORT: '' });
      expect(await service.stop()).toBe(0);
      expect(service.log.filter(({ level }) => level === 40)).toMatchObject([{ msg: warning }]);
    }
    const { code, out } = await run('doctor', env);
    expect([code, out.map((line) => JSON.parse(line) as object)]).toEqual([
      2,
      expect.arrayContaining([expect.objectContaining({ check: 'configuration', finding: warning })]),
    ]);
  });

  const SERVING = ['', 'serve', 'collector'];

  it.each(SERVING)(
    'ends with 78 and one line when HOST is no address of this machine: "%s"',
    async (entry) => {
      // Of TEST-NET-3 (RFC 5737), which no machine has.
      const { code, out, err } = await run(entry, { HOST: '203.0.113.7', METRICS_PORT: '' });
      // The first of them makes the store.
      expect([code, out.filter((line) => !line.includes('created a new, empty store')), err]).toEqual([
        78,
        [],
        ['Invalid configuration. HOST: 203.0.113.7 is not an address of this machine (EADDRNOTAVAIL)'],
      ]);
    },
  );

  it.each([
    ['PORT', ''],
    ['COLLECTOR_PORT', 'collector'],
    ['COLLECTOR_GRPC_PORT', 'collector', 'a free port, or to off'],
    ['METRICS_PORT', ''],
  ])(
    'ends with 1 and one line when another process listens on %s',
    async (variable, entry, cure = 'a free port') => {
      const other = createServer().listen(0, '127.0.0.1');
      await once(other, 'listening');
      const { port } = other.address() as AddressInfo;
      const [PORT, COLLECTOR_PORT] = [await freePort(), await freePort()].map(String);
      const settings = { HOST: '127.0.0.1', PORT, COLLECTOR_PORT, COLLECTOR_GRPC_PORT: 'off' };
      const { code, out, err } = await run(entry, { ...settings, [variable]: String(port) });
      expect([code, out, err]).toEqual([
        1,
        [],
        [
          `${variable}: another program listens on port ${port} of 127.0.0.1. Stop it, or set ${variable} to ${cure}.`,
        ],
      ]);
      other.close();
    },
  );

  it.each([
    [undefined, 'request-analytics'],
    ['npx', 'npx request-analytics'],
    ['cli', 'npm run -s cli --'],
    ['start', 'npm run -s cli --'],
  ])('is called as in the shell that runs it, by npm as %s', (npm_lifecycle_event, program) => {
    expect(new Config({ npm_lifecycle_event }).program).toBe(program);
  });

  it('names each port on which another process listens, the one of the API first', async () => {
    const others: Server[] = [];
    const taken: Record<string, string> = {};
    for (const variable of ['PORT', 'COLLECTOR_PORT', 'COLLECTOR_GRPC_PORT']) {
      const other = createServer().listen(0, '127.0.0.1');
      await once(other, 'listening');
      others.push(other);
      taken[variable] = String((other.address() as AddressInfo).port);
    }
    const { code, out, err } = await run('serve', { HOST: '127.0.0.1', ...taken });
    for (const other of others) other.close();
    expect([code, out, err]).toEqual([1, [], [expect.any(String)]]);
    expect(
      [...err[0]!.matchAll(/(\w+): another program listens on port (\d+)/g)].map(([, ...named]) => named),
    ).toEqual(Object.entries(taken));
  });

  it('ends with 78 and one line when one process is to serve the API and the collector on one port', async () => {
    const port = String(await freePort());
    const { code, out, err } = await run('serve', { PORT: port, COLLECTOR_PORT: port });
    expect([code, out, err]).toEqual([
      78,
      [],
      ['Invalid configuration. COLLECTOR_PORT: must be another port than PORT'],
    ]);
  });

  it('says which variable names a directory that cannot be one', async () => {
    const file = join(place, 'file');
    writeFileSync(file, '');
    const describeRefusal = (dataDir: string, why: string) =>
      `Invalid configuration. DATA_DIR: ${dataDir} cannot be used (${why})`;
    expect(await run('', { DATA_DIR: file })).toEqual({
      code: 78,
      out: [],
      err: [`Invalid configuration. DATA_DIR: ${file} is a file, not a directory`],
    });
    for (const [dataDir, why] of [
      [join(file, 'below'), 'ENOTDIR'],
      // Neither a directory nor a file can be made there, and Node's recursive mkdir tries for ever.
      ['/proc/data', 'ENOENT'],
      ['/proc/a/b', 'ENOENT'],
      ['/proc', 'ENOENT'],
    ] as const)
      await expect(ClickHouse.open(new Config({ DATA_DIR: dataDir }))).rejects.toThrow(
        new ConfigError(describeRefusal(dataDir, why)),
      );
  });
});
