import { readFileSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { cleanEnv, host, port, str } from 'envalid';
import { distance } from 'fastest-levenshtein';
import { DEFAULT_LIMITS, type NameLimits } from './name-limits.js';
import { type RedactionOptions, SECRET_FORMS } from './redaction.js';
import { parseTracing } from './tracing.config.js';
import {
  address,
  apiKey,
  jsonPaths,
  names,
  origins,
  pathPrefix,
  portOrOff,
  readableFile,
  secret,
  secretForms,
  trustProxy,
  webAddress,
  webhookSecret,
  whole,
} from './validators.js';

/** The configuration is invalid; `message` is one line that names each variable and the reason. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

const MIB = 1024 * 1024;

const SPECS = {
  PORT: port({ default: 3000 }),
  HOST: host({ default: '0.0.0.0' }),
  PUBLIC_PATH: pathPrefix({ default: '' }),
  CORS_ORIGINS: origins({ default: [] }),
  DATA_DIR: str({ default: './data' }),
  CLICKHOUSE_URL: address('http:', 'https:')({ default: undefined }),
  CLICKHOUSE_USER: str({ default: 'default' }),
  CLICKHOUSE_PASSWORD: str({ default: '' }),
  CLICKHOUSE_DATABASE: str({ default: 'request_analytics' }),
  CLICKHOUSE_MAX_CONNECTIONS: whole(1, 1000)({ default: 16 }),
  EMBEDDED_SESSIONS: whole(1, 64)({ default: Math.max(2, Math.min(8, availableParallelism() * 2)) }),
  // Read before this class: see `sizeThreadPool`.
  UV_THREADPOOL_SIZE: whole(1, 1024)({ default: undefined }),
  QUERY_TIMEOUT_SECONDS: whole(1, 600)({ default: 10 }),
  QUERY_MAX_MEMORY_MB: whole(16, 1_048_576)({ default: 1024 }),
  QUERY_MAX_READ_MB: whole(16, 1_048_576)({ default: 16_384 }),
  QUERY_MAX_RESULT_MB: whole(1, 1_048_576)({ default: 256 }),
  MAX_EXPORTS: whole(1, 1000)({ default: 4 }),
  RESPONSE_MIN_KB_PER_SECOND: whole(5, 1_000_000)({ default: 10 }),
  MAX_UNREAD_RESPONSES_MB: whole(1, 1_048_576)({ default: 128 }),
  EXPORT_MAX_ROWS: whole(1, 10_000_000_000)({ default: undefined }),
  EXPORT_MAX_SECONDS: whole(1, 604_800)({ default: undefined }),
  REDIS_URL: address('redis:', 'rediss:')({ default: undefined }),
  RATE_LIMIT_PER_MINUTE: whole(1, 1_000_000_000)({ default: 100 }),
  TRACES_RATE_LIMIT_PER_SECOND: whole(1, 1_000_000_000)({ default: 1 }),
  TRACES_RATE_LIMIT_PER_MINUTE: whole(1, 1_000_000_000)({ default: 10 }),
  AUTH_FAILURES_PER_MINUTE: whole(1, 1_000_000_000)({ default: 100 }),
  COLLECTOR: str({ choices: ['on', 'off'], default: 'on' }),
  COLLECTOR_PORT: port({ default: 3001 }),
  COLLECTOR_GRPC_PORT: portOrOff({ default: 4317 }),
  COLLECTOR_RATE_LIMIT_PER_MINUTE: whole(1, 1_000_000_000)({ default: 10_000 }),
  COLLECTOR_MAX_BODY_MB: whole(1, 256)({ default: 8 }),
  COLLECTOR_MAX_LOG_FILE_MB: whole(1, 1_024)({ default: 64 }),
  COLLECTOR_MAX_OTLP_MB: whole(1, 256)({ default: 64 }),
  COLLECTOR_MAX_REQUESTS_MB: whole(1, 1_024)({ default: 100 }),
  COLLECTOR_MAX_UNPACK_RATIO: whole(2, 10_000)({ default: 100 }),
  COLLECTOR_MAX_BODY_SECONDS: whole(1, 3_600)({ default: 60 }),
  COLLECTOR_MAX_BODY_HEAP_MB: whole(32, 65_536)({ default: 256 }),
  COLLECTOR_MAX_APP_SECONDS: whole(1, 60)({ default: 45 }),
  COLLECTOR_SPAN_COUNT_DELAY_SECONDS: whole(0, 3_600)({ default: 90 }),
  COLLECTOR_MAX_SPAN_WEIGHT: whole(1, 1_000_000)({ default: 10_000 }),
  COLLECTOR_MAX_IN_FLIGHT_MB: whole(1, 16_384)({ default: 128 }),
  MAX_ENDPOINTS_PER_APP: whole(1, 1_000_000)({ default: DEFAULT_LIMITS.endpoints }),
  MAX_CONSUMERS_PER_APP: whole(1, 10_000_000)({ default: DEFAULT_LIMITS.consumers }),
  MAX_CONSUMER_GROUPS_PER_APP: whole(1, 1_000_000)({ default: DEFAULT_LIMITS.consumerGroups }),
  MAX_ENVIRONMENTS_PER_APP: whole(1, 100_000)({ default: DEFAULT_LIMITS.environments }),
  REDACTION: str({ choices: ['on', 'off'], default: 'on' }),
  REDACT_HEADERS: names({ default: [] }),
  REDACT_QUERY_PARAMETERS: names({ default: [] }),
  REDACT_JSON_PATHS: jsonPaths({ default: [] }),
  REDACT_FORMS: secretForms({ default: SECRET_FORMS }),
  REDACT_EXCEPT: names({ default: [] }),
  TRUST_PROXY: trustProxy({ default: false }),
  TOKEN_SECRET: secret({ default: '' }),
  CACHE_TTL_MS: whole(0, 9_000)({ default: 5_000 }),
  LOG_LEVEL: str({
    choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    default: 'info',
  }),
  AUDIT_LOG: str({ default: undefined }),
  AUDIT_READS: str({ choices: ['on', 'off'], default: 'off' }),
  COUNTRY_DATABASE: readableFile({ default: undefined }),
  DEMO_API_KEY: apiKey({ default: undefined }),
  SHUTDOWN_DELAY_MS: whole(0, 600_000)({ default: 0 }),
  METRICS_PORT: port({ default: undefined }),
  DOCS: str({ choices: ['on', 'off'], default: 'on' }),
  DASHBOARD: str({ choices: ['on', 'off'], default: 'on' }),
  SENTRY_URL: webAddress({ default: '' }),
  MCP: str({ choices: ['on', 'off'], default: 'on' }),
  ALERTS: str({ choices: ['on', 'off'], default: 'on' }),
  ALERTS_FILE: readableFile({ default: undefined }),
  ALERT_GRACE_SECONDS: whole(0, 3_600)({ default: 120 }),
  ALERT_ALLOW_PRIVATE: str({ choices: ['on', 'off'], default: 'off' }),
  ALERT_WEBHOOK_SECRET: webhookSecret({ default: undefined }),
  ALERT_SMTP_URL: address('smtp:', 'smtps:')({ default: undefined }),
  ALERT_MAIL_FROM: str({ default: 'request-analytics@localhost' }),
  ALERT_DASHBOARD_URL: address('http:', 'https:')({ default: undefined }),
  API_URL: address('http:', 'https:')({ default: 'http://localhost:3000' }),
  API_KEY: apiKey({ default: undefined }),
};

/**
 * Variables whose value may be a secret; each can be in a file, which the variable with the suffix `_FILE`
 * names.
 */
const SECRETS = [
  'CLICKHOUSE_URL',
  'CLICKHOUSE_PASSWORD',
  'REDIS_URL',
  'TOKEN_SECRET',
  'DEMO_API_KEY',
  'API_KEY',
  'ALERT_WEBHOOK_SECRET',
  'ALERT_SMTP_URL',
] as const;
const MAX_SECRET_BYTES = 65_536;
/**
 * Shorter names with other letters resemble those of other programs: `APP_URL` is not `API_URL`, nor
 * `JAVA_DIR` `DATA_DIR`.
 */
const MIN_COMPARED_LENGTH = 9;
const MAX_EDITS = 2;

/** The variables; a class of its own, because the fields of `Config` begin with their values. */
class Variables {
  protected readonly env: ReturnType<typeof parse>;
  /** One line for each variable of the environment that has no effect because its name is misspelt. */
  readonly warnings: readonly string[];
  /** How this program is called in a shell: in a clone by npm, beside an installed package by npx. */
  readonly program: string;

  constructor(env: NodeJS.ProcessEnv = process.env) {
    this.env = parse(env);
    this.warnings = findMisspelled(env);
    this.program = nameProgram(env.npm_lifecycle_event);
  }
}

/** @param script of npm that runs this process; npx has this name as well */
function nameProgram(script: string | undefined): string {
  if (script === 'npx') return 'npx request-analytics';
  return script === undefined ? 'request-analytics' : 'npm run -s cli --';
}

/**
 * Sets a variable unless the environment has it. The configuration, or the engine as it loads, reads it
 * later.
 */
export function presetVariable(name: string, value: string): void {
  process.env[name] ??= value;
}

/** Sets a variable, for an option of the command line. */
export function setVariable(name: keyof typeof SPECS, value: string): void {
  process.env[name] = value;
}

/**
 * The configuration, read once from the environment; `.env.example` describes every variable. No other file
 * reads the environment, except OpenTelemetry's packages, which read their standard variables.
 */
export class Config extends Variables {
  readonly port = this.env.PORT;
  readonly host = this.env.HOST;
  /** The path below which the API, its reference and the dashboard are served; empty: at the root. */
  readonly publicPath = this.env.PUBLIC_PATH;
  /** Origins whose pages may read responses; `*`: all. */
  readonly corsOrigins = this.env.CORS_ORIGINS;
  /** Absolute path of the directory of the embedded engine; unused when `clickhouse.url` is set. */
  readonly dataDir = resolve(this.env.DATA_DIR);
  readonly clickhouse = {
    /** A ClickHouse server over HTTP; undefined: the engine inside this process. */
    url: this.env.CLICKHOUSE_URL,
    user: this.env.CLICKHOUSE_USER,
    password: this.env.CLICKHOUSE_PASSWORD,
    database: this.env.CLICKHOUSE_DATABASE,
    maxConnections: this.env.CLICKHOUSE_MAX_CONNECTIONS,
    embeddedSessions: this.env.EMBEDDED_SESSIONS,
    queryTimeoutSeconds: this.env.QUERY_TIMEOUT_SECONDS,
    queryMaxMemoryBytes: this.env.QUERY_MAX_MEMORY_MB * MIB,
    /** Uncompressed bytes of columns that a query may read. */
    queryMaxReadBytes: this.env.QUERY_MAX_READ_MB * MIB,
    queryMaxResultBytes: this.env.QUERY_MAX_RESULT_MB * MIB,
  };
  /**
   * Exports and trace queries that run at once in this process; each has one store query at a time. Further
   * ones get 503.
   */
  readonly maxExports = this.env.MAX_EXPORTS;
  /** Rows and seconds of one export; undefined: any number. */
  readonly exportLimits = { maxRows: this.env.EXPORT_MAX_ROWS, maxSeconds: this.env.EXPORT_MAX_SECONDS };
  /** Limits on clients that read their responses slowly. */
  readonly readers = {
    bytesPerSecond: this.env.RESPONSE_MIN_KB_PER_SECOND * 1_000,
    maxUnreadBytes: this.env.MAX_UNREAD_RESPONSES_MB * MIB,
  };
  readonly redisUrl = this.env.REDIS_URL;
  /** Requests allowed in a window of 60 s per API key (docs/contract.md#rate-limit). */
  readonly rateLimitPerMinute = this.env.RATE_LIMIT_PER_MINUTE;
  /** Queries of traces allowed per API key (docs/contract.md#traces). */
  readonly tracesLimits = {
    perSecond: this.env.TRACES_RATE_LIMIT_PER_SECOND,
    perMinute: this.env.TRACES_RATE_LIMIT_PER_MINUTE,
  };
  /** Invalid keys per client address in 60 s; more are rejected without a check. */
  readonly authFailuresPerMinute = this.env.AUTH_FAILURES_PER_MINUTE;
  /** The collection interface. */
  readonly collector = {
    /** Whether a process that serves the API runs it as well. */
    isBesideApi: this.env.COLLECTOR === 'on',
    port: this.env.COLLECTOR_PORT,
    /** Where OTLP over gRPC is received; null: nowhere. */
    grpcPort: this.env.COLLECTOR_GRPC_PORT === 'off' ? null : this.env.COLLECTOR_GRPC_PORT,
    /** Messages per client ID in a window of 60 s. */
    rateLimitPerMinute: this.env.COLLECTOR_RATE_LIMIT_PER_MINUTE,
    /** Longest body, as it arrives. */
    maxBodyBytes: this.env.COLLECTOR_MAX_BODY_MB * MIB,
    /** Largest decompressed log file. */
    maxLogFileBytes: this.env.COLLECTOR_MAX_LOG_FILE_MB * MIB,
    /** Largest OTLP body, compressed or decompressed. */
    maxOtlpBytes: this.env.COLLECTOR_MAX_OTLP_MB * MIB,
    /** Largest body of `/v1/requests`, compressed or decompressed. */
    maxRequestsBytes: this.env.COLLECTOR_MAX_REQUESTS_MB * MIB,
    /** Largest ratio of a body's decompressed size to its compressed size. */
    maxUnpackRatio: this.env.COLLECTOR_MAX_UNPACK_RATIO,
    /** Heap of the thread that parses a large body. */
    maxBodyHeapMb: this.env.COLLECTOR_MAX_BODY_HEAP_MB,
    /** Milliseconds for which one body may be parsed in all, and all bodies of an app in a minute. */
    maxBodyMs: this.env.COLLECTOR_MAX_BODY_SECONDS * 1000,
    maxAppMs: this.env.COLLECTOR_MAX_APP_SECONDS * 1000,
    /**
     * Delay in milliseconds until an instance's spans are counted. If its metric arrives earlier, the metric
     * is counted instead.
     */
    spanCountDelayMs: this.env.COLLECTOR_SPAN_COUNT_DELAY_SECONDS * 1000,
    /**
     * Largest number of requests that one span may count as. Its `tracestate` states the number, and visitors
     * can forge it.
     */
    maxSpanWeight: this.env.COLLECTOR_MAX_SPAN_WEIGHT,
    /**
     * Bytes of all messages in flight. An app beyond a quarter gets 429; beyond the whole, every app gets
     * 503.
     */
    maxInFlightBytes: this.env.COLLECTOR_MAX_IN_FLIGHT_MB * MIB,
  };
  /** Limits on names for apps without their own limits. */
  readonly nameLimits: NameLimits = {
    endpoints: this.env.MAX_ENDPOINTS_PER_APP,
    consumers: this.env.MAX_CONSUMERS_PER_APP,
    consumerGroups: this.env.MAX_CONSUMER_GROUPS_PER_APP,
    environments: this.env.MAX_ENVIRONMENTS_PER_APP,
  };
  /** What is masked before it is stored; null: redaction is off. */
  readonly redaction: RedactionOptions | null =
    this.env.REDACTION === 'off'
      ? null
      : {
          headers: this.env.REDACT_HEADERS,
          queryParameters: this.env.REDACT_QUERY_PARAMETERS,
          jsonPaths: this.env.REDACT_JSON_PATHS,
          forms: this.env.REDACT_FORMS,
          exceptions: this.env.REDACT_EXCEPT,
        };
  /** Express's `trust proxy`: the proxies whose `X-Forwarded-For` is trusted. */
  readonly trustProxy = this.env.TRUST_PROXY;
  /** Signs page tokens; empty: the secret in the store. */
  readonly tokenSecret = this.env.TOKEN_SECRET;
  /** How long keys and app scopes are cached, in milliseconds; below the contract's 10 s. */
  readonly cacheTtlMs = this.env.CACHE_TTL_MS;
  /** How long the service still serves after SIGTERM, in milliseconds; it is not ready during that time. */
  readonly shutdownDelayMs = this.env.SHUTDOWN_DELAY_MS;
  readonly logLevel = this.env.LOG_LEVEL;
  /** File to which audit lines are appended; undefined: standard error. */
  readonly auditLog = this.env.AUDIT_LOG;
  /** Whether each read of headers and bodies of requests is an audit line. */
  readonly auditReads = this.env.AUDIT_READS === 'on';
  /** An MMDB file with the countries of addresses; without one, the packaged data serves IPv4. */
  readonly countryDatabase = this.env.COUNTRY_DATABASE;
  /** The key that `demo` creates; a random one when not set. */
  readonly demoApiKey = this.env.DEMO_API_KEY;
  /** Where `/metrics` is served, on the API's address; undefined: nothing is measured. */
  readonly metricsPort = this.env.METRICS_PORT;
  /** Whether the OpenAPI document and its page are served. */
  readonly docs = this.env.DOCS === 'on';
  /** Whether the dashboard is served at `/`. */
  readonly dashboard = this.env.DASHBOARD === 'on';
  /**
   * The organization in Sentry, to which the dashboard links events, without a slash at the end; empty: none.
   */
  readonly sentryUrl = this.env.SENTRY_URL;
  /** Whether agents are served at `/mcp`. */
  readonly mcp = this.env.MCP === 'on';
  readonly alerts = {
    /** Whether a process that writes evaluates rules. */
    areEvaluated: this.env.ALERTS === 'on',
    /** A file of rules; undefined: rules are made by commands alone. */
    file: this.env.ALERTS_FILE,
    /** How long after its end a window is evaluated, in milliseconds: data arrive late. */
    graceMs: this.env.ALERT_GRACE_SECONDS * 1000,
    /** Whether webhooks may have addresses that are not public. */
    allowsPrivate: this.env.ALERT_ALLOW_PRIVATE === 'on',
    /** Signs webhooks; undefined: they are not signed. */
    webhookSecret: this.env.ALERT_WEBHOOK_SECRET,
    /** The server that sends e-mails; undefined: none is sent. */
    smtpUrl: this.env.ALERT_SMTP_URL,
    mailFrom: this.env.ALERT_MAIL_FROM,
    /** Where people open the dashboard, for links in messages. */
    dashboardUrl: this.env.ALERT_DASHBOARD_URL ?? `http://localhost:${this.env.PORT}${this.env.PUBLIC_PATH}`,
  };
  /** The service that `mcp` calls over HTTP, and the key for it; undefined: not set. */
  readonly api = { url: this.env.API_URL, key: this.env.API_KEY };
  /** Export of traces, from OpenTelemetry's standard variables; null: disabled. */
  readonly tracing = this.env.tracing;
}

function parse(env: NodeJS.ProcessEnv) {
  // An empty variable counts as not set, because docker-compose and .env files write empty values.
  const given = withSecretFiles(Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')));
  const values = cleanEnv(given, SPECS, {
    reporter: ({ errors }) => {
      throwIfInvalid(Object.entries(errors).map(([name, error]) => `${name}: ${error.message}`));
    },
  });
  const { METRICS_PORT, PORT, COLLECTOR_PORT, COLLECTOR_GRPC_PORT } = values;
  const tracing = parseTracing(given);
  throwIfInvalid([
    ...(METRICS_PORT === PORT || METRICS_PORT === COLLECTOR_PORT
      ? ['METRICS_PORT: must be another port than PORT and COLLECTOR_PORT']
      : []),
    ...(COLLECTOR_GRPC_PORT !== 'off' && [METRICS_PORT, PORT, COLLECTOR_PORT].includes(COLLECTOR_GRPC_PORT)
      ? ['COLLECTOR_GRPC_PORT: must be another port than PORT, COLLECTOR_PORT and METRICS_PORT']
      : []),
    ...tracing.issues,
  ]);
  return { ...values, tracing: tracing.config };
}

/** The variables with the contents of their files. */
function withSecretFiles(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const issues: string[] = [];
  const values = { ...env };
  for (const name of SECRETS) {
    const path = env[`${name}_FILE`];
    if (path === undefined) continue;
    if (env[name] !== undefined) issues.push(`${name}_FILE: must not be set together with ${name}`);
    else values[name] = readSecret(path) ?? '';
    if (values[name] === '')
      issues.push(`${name}_FILE: must name a file that can be read and has a secret in it`);
  }
  throwIfInvalid(issues);
  return values;
}

/** The content of the file without a trailing line feed; undefined if it cannot be read. */
function readSecret(path: string): string | undefined {
  try {
    const file = statSync(path);
    if (!file.isFile() || file.size > MAX_SECRET_BYTES) return undefined;
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch {
    return undefined;
  }
}

function findMisspelled(env: NodeJS.ProcessEnv): string[] {
  const knownNames = [...Object.keys(SPECS), ...SECRETS.map((name) => `${name}_FILE`)];
  return Object.keys(env).flatMap((name) => {
    if (knownNames.includes(name)) return [];
    const upper = name.toUpperCase();
    const isCompared = name.length >= MIN_COMPARED_LENGTH;
    const meant = knownNames.find(
      (variable) =>
        // Words alone, such as `PORT`, are names of other programs in lower case.
        (variable.includes('_') && joinWords(upper) === joinWords(variable)) ||
        // A typing error in the first letter is rare; `X_API_KEY` is a name of its own.
        (isCompared && variable.startsWith(upper.charAt(0)) && distance(upper, variable) <= MAX_EDITS),
    );
    return meant === undefined
      ? []
      : [`${name} has no effect: no variable has this name; ${meant} may be meant`];
  });
}

/** `DATADIR`, `DATA-DIR` and `DATA_DIR` alike. */
function joinWords(name: string): string {
  return name.replaceAll(/[^A-Z0-9]/g, '');
}

function throwIfInvalid(issues: readonly string[]) {
  if (issues.length > 0)
    throw new ConfigError(`Invalid configuration. ${issues.join('; ').replaceAll(/\s+/g, ' ')}`);
}
