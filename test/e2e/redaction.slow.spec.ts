import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SeverityNumber } from '../../src/sources/otlp/generated/opentelemetry/proto/logs/v1/logs_pb.js';
import { Span_SpanKind } from '../../src/sources/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import { ALL_SCOPES } from '../../src/platform/http/account.js';
import { EXPORT_FIELDS } from '../../src/api/request-logs/export/export.input.js';
import { SECRET_FORMS } from '../factories/secret-forms.js';
import { callTool, connectClient } from '../setup/mcp.js';
import { logFile } from '../collector/setup/log-file.js';
import { buildCount, buildLogItem, buildSync } from '../collector/setup/messages.js';
import { OtlpSender, attributes, logs, nanosecondsAgo, serverSpan, traces } from '../collector/setup/otlp.js';
import { post } from '../collector/setup/post.js';
import { runCommand } from '../setup/command.js';
import { administer, dataDirectory } from '../setup/data-directory.js';
import { ProductProcess } from '../setup/product-process.js';
import { findInFiles, findInTables } from '../setup/stored-text.js';
import { describeEmbedded } from '../setup/store.js';

const SECRETS = 1_000;

/** Makes secrets, and remembers each. */
class Planter {
  readonly secrets: string[] = [];
  /** What is known of the secrets that are written in a form: the form, the place and the way. */
  readonly labels = new Map<string, string>();

  plain = () => this.add(`s3${randomBytes(9).toString('hex')}`);

  jwt = () => {
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signature = randomBytes(32).toString('base64url');
    return this.add(`${encode({ alg: 'HS256' })}.${encode({ sub: randomUUID() })}.${signature}`);
  };

  basic = () => this.add(Buffer.from(`ann:${randomBytes(9).toString('hex')}`).toString('base64'));

  /** A number of Visa, Mastercard or American Express with its check digit. */
  card = () => {
    const [prefix, length] = [
      ['4', 16],
      ['53', 16],
      ['37', 15],
    ][randomInt(3)] as [string, number];
    const digits = prefix + Array.from({ length: length - prefix.length - 1 }, () => randomInt(10)).join('');
    const sum = Array.from(digits)
      .reverse()
      .reduce((total, digit, position) => {
        const weighted = position % 2 === 0 ? 2 * Number(digit) : Number(digit);
        return total + (weighted > 9 ? weighted - 9 : weighted);
      }, 0);
    return this.add(`${digits}${(10 - (sum % 10)) % 10}`);
  };

  /** Pairs of headers, a URL with a query, bodies and texts with a secret of each kind. */
  headers = (): [string, string][] => [
    ['Authorization', `Bearer ${this.plain()}`],
    ['cookie', `sid=${this.plain()}; theme=dark`],
    ['X-Api-Key', this.plain()],
    ['referer', `https://shop.example.com/a?b=1&access_token=${this.plain()}`],
    ['x-forwarded-uri', `/a?api_key=${this.plain()}`],
    ['x-note', `id ${this.jwt()}`],
  ];
  url = () =>
    `https://ann:${this.plain()}@shop.example.com/a?page=2&api_key=${this.plain()}&%73ig=${this.plain()}&q=${this.jwt()}`;
  body = () =>
    JSON.stringify({
      user: { name: 'Ann', password: this.plain(), cards: [this.card(), Number(this.card())] },
      auth: { tokens: [{ refreshToken: this.plain() }] },
      note: `Basic ${this.basic()} and "${this.jwt()}"`,
      nested: JSON.stringify({ client_secret: this.plain() }),
      'p\u0061sswd': this.plain(),
    });
  form = () => `grant_type=password&password=${this.plain()}&card=${this.card()}`;
  damaged = () => `{"items":[1,2],"api_key":"${this.plain()}","password":"${this.plain()}`;
  text = () =>
    `GET /a?token=${this.plain()} by Bearer ${this.plain()}, card ${this.card().replace(/(.{4})/, '$1')}: {"password":"${this.plain()}"}`;

  /** A function that writes a secret in a form for a place, which may need encoded ones. */
  write =
    (form: string, way: string) =>
    (place: string): string => {
      const secret = this.plain();
      this.labels.set(secret, `${form} in ${place} by ${way}`);
      return SECRET_FORMS[form]!(secret);
    };

  private add(secret: string): string {
    this.secrets.push(secret);
    return secret;
  }
}

const timestamp = () => new Date(Date.now() - 60_000).toISOString();

/** Lines of NDJSON with secrets wherever a line can have them. */
function buildLines(planter: Planter): object[] {
  return [
    {
      timestamp: timestamp(),
      method: 'POST',
      url: planter.url(),
      status_code: 500,
      request_headers: planter.headers(),
      response_headers: [['Set-Cookie', `id=${planter.plain()}`]],
      request_body_json: planter.body(),
      response_body_json: planter.form(),
      trace_id: randomBytes(16).toString('hex'),
      exception: { type: 'Error', message: planter.text(), stacktrace: planter.text() },
      logs: [{ timestamp: timestamp(), message: planter.text(), level: 'info', logger: planter.jwt() }],
      spans: [
        {
          span_id: randomBytes(8).toString('hex'),
          name: `GET ${planter.url()}`,
          start_time_ns: `${Date.now()}000000`,
          end_time_ns: `${Date.now()}000000`,
          attributes: { 'url.full': planter.url(), 'http.request.header.x-api-key': [planter.plain()] },
        },
      ],
    },
    { timestamp: timestamp(), method: 'GET', url: `/reset/${planter.jwt()}`, status_code: 200 },
    {
      timestamp: timestamp(),
      method: 'PUT',
      url: '/b',
      status_code: 200,
      request_body_json: planter.damaged(),
    },
  ];
}

type Write = (place: string) => string;

const query = (text: string) => `q=${encodeURIComponent(text)}`;
const base64 = (text: string) => Buffer.from(text).toString('base64');
const inEpochNanoseconds = () => `${Date.now()}000000`;
const FORMS = Object.keys(SECRET_FORMS);

/** Attributes of a span with a secret in each place. */
function plantAttributes(write: Write) {
  return {
    'app.note': write('attribute'),
    'app.list': [write('attribute, list')],
    'app.map': { deep: write('attribute, map') },
    'app.encoded': query(write('attribute, encoded')),
    'url.full': `https://a.example/?${query(write('url.full'))}`,
    'url.query': query(write('url.query')),
    'http.target': `/a?${query(write('http.target'))}`,
    'http.request.header.x-note': [write('attribute of a header')],
    'rpc.grpc.request.metadata.x-note': [write('attribute of metadata')],
  };
}

function plantHeaders(write: Write): [string, string][] {
  return [
    ['X-Note', write('header')],
    ['Location', `https://a.example/?${query(write('header with a URL'))}`],
  ];
}

/** A line of NDJSON with a secret in each place. */
function plantLine(write: Write): object {
  const times = { start_time_ns: inEpochNanoseconds(), end_time_ns: inEpochNanoseconds() };
  return {
    timestamp: timestamp(),
    method: 'POST',
    url: `/forms?${query(write('url'))}`,
    status_code: 500,
    request_headers: plantHeaders(write),
    response_headers: plantHeaders(write),
    request_body_json: write('body'),
    response_body_json: JSON.stringify({ a: [write('member of a body')] }),
    trace_id: randomBytes(16).toString('hex'),
    exception: { type: 'E', message: write('exception'), stacktrace: write('stack trace') },
    logs: [{ timestamp: timestamp(), message: write('log message'), level: 'info', logger: null }],
    spans: [
      {
        span_id: randomBytes(8).toString('hex'),
        name: write('span name'),
        ...times,
        attributes: plantAttributes(write),
      },
    ],
  };
}

/** The same for the hub. */
function plantItem(write: Write): object {
  return buildLogItem({
    request: {
      url: `https://a.example/forms?${query(write('url'))}`,
      headers: plantHeaders(write),
      body: base64(write('body')),
    },
    response: {
      headers: plantHeaders(write),
      body: base64(JSON.stringify({ a: write('member of a body') })),
    },
    exception: { type: 'E', message: write('exception'), traceback: write('stack trace') },
    logs: [{ timestamp: Date.now() / 1000, message: write('log message'), level: 'info' }],
    traceId: randomBytes(16).toString('hex'),
    spans: [
      {
        spanId: randomBytes(8).toString('hex'),
        name: write('span name'),
        startTime: inEpochNanoseconds(),
        endTime: inEpochNanoseconds(),
        attributes: plantAttributes(write),
      },
    ],
  });
}

/** The same for OTLP: a span, and the log records of its trace. */
function plantSpan(write: Write) {
  const span = serverSpan({
    ...plantAttributes(write),
    'http.response.status_code': 500,
    'app.bytes': Buffer.from(write('attribute, bytes')),
    'apitally.request.body': write('body'),
    'apitally.response.body': Buffer.from(JSON.stringify({ a: write('member of a body') })),
  });
  span.name = write('span name');
  const event = (name: string, values: Record<string, string>) => ({
    name,
    timeUnixNano: nanosecondsAgo(60_000),
    attributes: attributes(values),
  });
  span.events = [
    event('exception', {
      'exception.message': write('exception'),
      'exception.stacktrace': write('stack trace'),
    }),
    event('note', { 'app.note': write('attribute of an event') }),
  ];
  const bodies = [
    { case: 'stringValue' as const, value: write('log message') },
    { case: 'bytesValue' as const, value: Buffer.from(write('log message, bytes')) },
    {
      case: 'kvlistValue' as const,
      value: { values: attributes({ note: write('log message, map') }) },
    },
  ];
  const records = bodies.map((value) => ({
    timeUnixNano: nanosecondsAgo(60_000),
    severityNumber: SeverityNumber.INFO,
    traceId: span.traceId!,
    spanId: span.spanId!,
    body: { value },
  }));
  return { span, records };
}

describeEmbedded('secrets in what applications send', () => {
  const data = dataDirectory();
  const off = dataDirectory();

  afterAll(async () => {
    await ProductProcess.endAll();
    data.remove();
    off.remove();
  });

  /** Plants secrets through every way in; resolves when all of them are stored and the server has ended. */
  async function plant(env: NodeJS.ProcessEnv, least: number) {
    const planter = new Planter();
    const server = await ProductProcess.start(['serve'], env);
    const run = async (...args: string[]) => {
      const { code, out, err } = await runCommand(args, env);
      expect([code, code === 0 ? '' : err.join('\n')]).toEqual([0, '']);
      return JSON.parse(out[0] ?? 'null') as Record<string, string>;
    };
    const { app, key, token } = await administer(env, async (admin) => {
      const { id } = await admin.teams.create('Acme', 'premium');
      const app = await admin.apps.create(id, 'Shop', 'express');
      const { token } = await admin.writeTokens.create(app.id);
      // Each request is read in detail, and by agents.
      const scopes = { ...ALL_SCOPES, requestsPerMinute: 1_000_000 };
      return { app, token, ...(await admin.keys.create(id, { scopes })) };
    });
    const hub = `${server.collectorUrl}/v2/${app.client_id}/prod`;
    const sender = new OtlpSender(server.collectorUrl, token);
    const sendLines = async (all: object[]) => {
      const lines = all.map((line) => `${JSON.stringify(line)}\n`);
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' };
      const { body } = await post(`${server.collectorUrl}/v1/requests`, lines.join(''), headers);
      expect(body).toMatchObject({ imported: lines.length });
    };
    // What is sent at once is written at once, which takes a fraction of the time.
    const sent: Promise<void>[] = [];
    // An app sends one body with lines at a time.
    const lines: object[] = [];
    do {
      sent.push(sendToHub(planter, hub), sendByOtlp(planter, sender));
      lines.push(...buildLines(planter));
    } while (planter.secrets.length < (least * 2) / 3);
    for (const form of FORMS) {
      const item = plantItem(planter.write(form, 'hub'));
      const { span, records } = plantSpan(planter.write(form, 'OTLP'));
      sent.push(
        post(`${hub}/log?uuid=${randomUUID()}`, logFile([item])).then(() => undefined),
        sender.deliver('traces', traces([span])).then(() => sender.deliver('logs', logs(records))),
      );
    }
    sent.push(sendLines([...lines, ...FORMS.map((form) => plantLine(planter.write(form, 'POST')))]));
    await Promise.all(sent);
    await importFiles(planter, env, least, run);
    const responses = await readAll(server.apiUrl, key);
    expect(await server.stop()).toBe(0);
    return { planter, responses, directory: env.DATA_DIR! };
  }

  async function importFiles(
    planter: Planter,
    { DATA_DIR }: NodeJS.ProcessEnv,
    least: number,
    run: (...args: string[]) => Promise<Record<string, string>>,
  ) {
    const lines: object[] = [];
    do lines.push(...buildLines(planter));
    while (planter.secrets.length < least);
    for (const form of FORMS) lines.push(plantLine(planter.write(form, 'import')));
    const file = join(DATA_DIR!, '..', `planted-${process.pid}.log`);
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    expect(await run('import', file, '--app', '1')).toMatchObject({ imported: lines.length });
    const [, day, month, year, time] = /(\d+) (\w+) (\d+) (\S+)/.exec(new Date().toUTCString())!;
    const access = () =>
      `8.8.8.8 - - [${day}/${month}/${year}:${time} +0000] "GET /a?apikey=${planter.plain()}&x=1 HTTP/1.1" 200 5 ` +
      `"https://a.example/?password=${planter.plain()}" "curl/8 ${planter.jwt()}"`;
    writeFileSync(file, `${access()}\n${access()}\n`);
    expect(await run('import', file, '--app', '1')).toMatchObject({ imported: 2 });
    rmSync(file);
  }

  async function sendToHub(planter: Planter, hub: string) {
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const item = buildLogItem({
      request: { url: planter.url(), headers: planter.headers(), body: base64(planter.body()) },
      response: { headers: planter.headers(), body: base64(planter.damaged()) },
      exception: { type: 'E', message: planter.text(), traceback: planter.text() },
      logs: [{ timestamp: Date.now() / 1000, message: planter.text(), level: 'info' }],
      traceId: randomBytes(16).toString('hex'),
      spans: [
        {
          spanId: randomBytes(8).toString('hex'),
          name: planter.url(),
          startTime: `${Date.now()}000000`,
          endTime: `${Date.now()}000000`,
          attributes: { 'url.query': `token=${planter.plain()}`, password: planter.plain() },
        },
      ],
    });
    expect(await post(`${hub}/log?uuid=${randomUUID()}`, logFile([item]))).toMatchObject({
      body: { status: 'accepted' },
    });
    const error = { consumer: 'ann', method: 'GET', path: `/reset/${planter.jwt()}`, error_count: 1 };
    const sync = buildSync({
      requests: [buildCount({ path: `/reset/${planter.jwt()}` })],
      validation_errors: [
        { ...error, loc: ['query', planter.jwt()], msg: planter.text(), type: 'value_error' },
      ],
      server_errors: [{ ...error, type: 'E', msg: planter.text(), traceback: planter.text() }],
    });
    const paths = [{ method: 'GET', path: `/a?token=${planter.plain()}` }];
    const startup = {
      instance_uuid: randomUUID(),
      message_uuid: randomUUID(),
      paths,
      versions: {},
      client: 'js:test',
    };
    for (const [kind, body] of Object.entries({ sync, startup }))
      expect(await post(`${hub}/${kind}`, JSON.stringify(body))).toMatchObject({
        body: { status: 'accepted' },
      });
  }

  async function sendByOtlp(planter: Planter, sender: OtlpSender) {
    const span = serverSpan({
      'http.response.status_code': 500,
      'url.query': `a=1&api_key=${planter.plain()}`,
      'http.request.header.authorization': [`Bearer ${planter.plain()}`],
      'http.response.header.set_cookie': [planter.plain()],
      'apitally.request.body': planter.body(),
      'apitally.response.body': Buffer.from(planter.form()),
      'db.statement': `SELECT 1 -- ${planter.text()}`,
    });
    span.events = [
      {
        name: 'exception',
        timeUnixNano: nanosecondsAgo(60_000),
        attributes: attributes({
          'exception.message': planter.text(),
          'exception.stacktrace': planter.text(),
        }),
      },
    ];
    const inner = serverSpan(
      {},
      {
        ...{ traceId: span.traceId!, kind: Span_SpanKind.CLIENT, name: `call ${planter.url()}` },
        attributes: attributes({ 'http.url': planter.url(), secrets: { deep: [planter.plain()] } }),
      },
    );
    await sender.deliver('traces', traces([span, inner]));
    const records = [
      {
        timeUnixNano: nanosecondsAgo(60_000),
        severityNumber: SeverityNumber.INFO,
        traceId: span.traceId!,
        spanId: span.spanId!,
        attributes: attributes({ 'code.file.path': planter.jwt() }),
        body: { value: { case: 'stringValue' as const, value: planter.text() } },
      },
      {
        timeUnixNano: nanosecondsAgo(60_000),
        traceId: span.traceId!,
        body: {
          value: {
            case: 'kvlistValue' as const,
            value: { values: attributes({ password: planter.plain() }) },
          },
        },
      },
    ];
    await sender.deliver('logs', logs(records, { scope: planter.jwt() }));
    const report = JSON.stringify({
      method: 'GET',
      route: '/a',
      message: planter.text(),
      stacktrace: planter.text(),
      counts: [{ count: 1 }],
    });
    await sender.deliver(
      'logs',
      logs(
        [
          {
            eventName: 'apitally.request.server_error',
            body: { value: { case: 'stringValue', value: report } },
          },
        ],
        { scope: 'apitally' },
      ),
    );
  }

  /** What each way out says: lists, details, exports, traces, metrics by name, and the tools of agents. */
  async function readAll(url: string, key: string): Promise<string> {
    const ask = async (path: string, json?: object) => {
      const response = await fetch(`${url}/v1/apps/1/${path}`, {
        method: json ? 'POST' : 'GET',
        headers: { 'Api-Key': key, 'content-type': 'application/json' },
        body: json ? JSON.stringify(json) : null,
      });
      expect([path, response.status]).toEqual([path, 200]);
      return response.text();
    };
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const list = await ask('request-logs?limit=1000');
    const said = [list, await ask('endpoints'), await ask('consumers')];
    said.push(await ask('request-logs', { since, fields: EXPORT_FIELDS }));
    said.push(await ask('traces', { since, fields: ['name', 'attributes', 'events', 'scope_name'] }));
    said.push(await ask('metrics', { since, metrics: ['requests'], group_by: ['path'] }));
    const client = await connectClient(url, { 'Api-Key': key });
    for (const { request_uuid } of (JSON.parse(list) as { data: { request_uuid: string }[] }).data) {
      said.push(await ask(`request-logs/${request_uuid}`));
      said.push((await callTool(client, 'get_request', { app: '1', request_uuid })).text);
    }
    const found = { app: '1', since: '1h', limit: 100, fields: ['url', 'request_headers'] };
    said.push((await callTool(client, 'search_requests', found)).text);
    await client.close();
    return said.join('\n');
  }

  const findInText = (text: string, secrets: readonly string[]) =>
    secrets.filter((secret) => text.includes(secret));

  it(`are in no file, no column and no response: ${SECRETS} of them through every way in`, async () => {
    const { planter, responses, directory } = await plant(data.env, SECRETS);
    expect(planter.secrets.length).toBeGreaterThanOrEqual(SECRETS);
    const { secrets, labels } = planter;
    const stored = Object.values(await findInTables(directory, secrets)).flat();
    const passed = new Set([
      ...stored,
      ...findInText(responses, secrets),
      ...findInFiles(directory, secrets),
    ]);
    console.info(
      `${passed.size} of ${secrets.length} secrets passed, ${labels.size} of them in ${FORMS.length} forms, in each place by each way`,
    );
    expect(Array.from(passed, (secret) => labels.get(secret) ?? secret)).toEqual([]);
    // What is no secret is there.
    expect(responses).toContain(
      'https://******@shop.example.com/a?page=2&api_key=******&%73ig=******&q=******',
    );
    expect(responses).toContain(
      JSON.stringify(JSON.stringify('grant_type=password&password=******&card=******')),
    );
    expect(Object.keys(await findInTables(directory, ['******']))).toEqual(
      expect.arrayContaining([
        'application_logs_v1',
        'endpoints_v1',
        'errors_v1',
        'request_details_v1',
        'request_logs_v1',
        'spans_v1',
      ]),
    );
  });

  it('are all found when redaction is off', async () => {
    const { planter, responses, directory } = await plant({ ...off.env, REDACTION: 'off' }, 1);
    const found = new Set(Object.values(await findInTables(directory, planter.secrets)).flat());
    const missing = planter.secrets.filter((secret) => !found.has(secret));
    expect(missing.map((secret) => planter.labels.get(secret) ?? secret)).toEqual([]);
    expect(findInText(responses, planter.secrets).length).toBeGreaterThan(planter.secrets.length / 2);
  });
});
