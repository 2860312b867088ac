import { randomBytes, randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { buildLogItem, buildSync } from '../collector/setup/messages.js';
import { MIB } from './messages.js';

/** One body that makes much work of little, and the answer that the contract promises. */
export interface HostileBody {
  name: string;
  /** `v1/traces`, `grpc/traces`, or the kind of a message of the hub. */
  way: string;
  headers: Record<string, string>;
  body: Buffer<ArrayBuffer>;
  status: number;
  /** What the answer says. */
  says?: RegExp;
}

export const GRPC_WAY = 'grpc/';
/** What a masked value costs most: many short secrets. */
const SECRETS = ['token=1&', 'password=abc Bearer ', '<token>1</token>', 'token:"1",'] as const;
const [TOKENS, PASSWORDS, ELEMENTS, MEMBERS] = SECRETS;
const GZIP = { 'content-encoding': 'gzip' };
const PROTOBUF = { 'content-type': 'application/x-protobuf' };
const JSON_TYPE = { 'content-type': 'application/json' };
/** Less than the product unpacks; more would be refused before anything is read. */
const NEARLY_REFUSED = 90;
const UNPACKS_TO_MUCH = /Payload too large: unpacks to more than 100 times its size/;
const MINUTE_MS = 60_000;

/** Copies of `repeated`, one after another: as many whole ones as fit into `bytes`. */
const fill = (repeated: Buffer | string, bytes: number) => {
  const unit = Buffer.from(repeated);
  return Buffer.alloc(Math.floor(bytes / unit.length) * unit.length, unit);
};
const joined = (...parts: (Buffer | string)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
const many = (count: number, item: (n: number) => Buffer) =>
  Buffer.concat(Array.from({ length: count }, (_, n) => item(n)));
const list = (count: number, item: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => item(n)).join();
/** Text that no compression makes shorter: a body with it unpacks to fewer times its size. */
const padding = (unpackedBytes: number) =>
  randomBytes(Math.ceil(unpackedBytes / NEARLY_REFUSED))
    .toString('hex')
    .slice(0, Math.ceil((2 * unpackedBytes) / NEARLY_REFUSED));

// --- Protobuf, written by hand: the library would take minutes for some of these.

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let remaining = value; ; remaining = Math.floor(remaining / 128)) {
    if (remaining < 128) return Buffer.from([...bytes, remaining]);
    bytes.push((remaining % 128) | 128);
  }
}
const field = (number: number, ...parts: (Buffer | string)[]) => {
  const value = joined(...parts);
  return joined(varint(number * 8 + 2), varint(value.length), value);
};
const fixed64 = (number: number, value: bigint) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return joined(varint(number * 8 + 1), bytes);
};
const nanoseconds = () => BigInt(Date.now() - MINUTE_MS) * 1_000_000n;
const anyText = (text: Buffer | string) => field(1, text);
const attribute = (key: string, value: Buffer | string = 'v') =>
  field(1, field(1, key), field(2, anyText(value)));
/** The same attribute as a field of another number. */
const attributeOf = (number: number, key: string, value: Buffer | string = 'v') =>
  field(number, field(1, key), field(2, anyText(value)));
/** Attributes with a name each, written into copies of the first: to build each takes seconds. */
function attributesOf(number: number, count: number): Buffer {
  const first = attributeOf(number, 'a000000');
  const attributes = fill(first, count * first.length);
  for (let n = 0, at = first.indexOf('000000'); n < count; n++, at += first.length)
    attributes.write(String(n).padStart(6, '0'), at, 'latin1');
  return attributes;
}

/** A SERVER span of a minute ago. */
function span(...parts: Buffer[]): Buffer {
  const start = nanoseconds();
  return field(
    2,
    field(1, randomBytes(16)),
    field(2, randomBytes(8)),
    field(5, 'GET /users/:id'),
    varint(6 * 8),
    varint(2),
    fixed64(7, start),
    fixed64(8, start + 12_500_000n),
    attributeOf(9, 'http.request.method', 'GET'),
    ...parts,
  );
}
const logRecord = (...parts: Buffer[]) =>
  field(2, fixed64(1, nanoseconds()), field(9, randomBytes(16)), field(10, randomBytes(8)), ...parts);
const scopeOf = (...items: Buffer[]) => field(2, field(1, field(1, 'test')), ...items);
const resourceOf = (...attributes: Buffer[]) => field(1, attribute('service.name', 'shop'), ...attributes);
const exported = (...scopes: Buffer[]) => field(1, resourceOf(), ...scopes);
const point = (...parts: Buffer[]) => {
  const end = nanoseconds();
  return field(
    1,
    fixed64(2, end - 10_000_000_000n),
    fixed64(3, end),
    fixed64(4, 1n),
    attributeOf(9, 'http.request.method', 'GET'),
    ...parts,
  );
};
/** The histogram of durations, of the interval. */
const durations = (...points: Buffer[]) =>
  field(
    2,
    field(1, 'http.server.request.duration'),
    field(3, 's'),
    field(9, ...points, Buffer.from([0x10, 1])),
  );

/** Bodies of an OTLP signal: packed as they are, and so that they unpack to less than is refused. */
const otlp = (signal: string, name: string, status: number, body: Buffer, says?: RegExp): HostileBody => ({
  name: `${signal}: ${name}`,
  way: `v1/${signal}`,
  headers: { ...PROTOBUF, ...GZIP },
  body: gzipSync(body),
  status,
  ...(says && { says }),
});
const packedOtlp = (signal: string, name: string, status: number, body: Buffer, says?: RegExp): HostileBody =>
  // An unknown field is skipped.
  otlp(signal, `${name}, below the ratio`, status, joined(body, field(200, padding(body.length))), says);
const otlpJson = (
  signal: string,
  name: string,
  status: number,
  body: Buffer | string,
  says?: RegExp,
): HostileBody => ({
  ...otlp(signal, `${name}, JSON`, status, joined(body), says),
  headers: { ...JSON_TYPE, ...GZIP },
});

// --- OTLP's JSON.

const jsonSpan = (members: string) => {
  const ids = `"traceId":"${randomBytes(16).toString('hex')}","spanId":"${randomBytes(8).toString('hex')}"`;
  const start = nanoseconds();
  return `{${ids},"name":"GET /","kind":2,"startTimeUnixNano":"${start}","endTimeUnixNano":"${start + 1_000_000n}",${members}}`;
};
const jsonAttribute = (key: string, value: string) => `{"key":"${key}","value":{"stringValue":"${value}"}}`;
const METHOD = jsonAttribute('http.request.method', 'GET');
const jsonTraces = (spans: string, padded = '') =>
  `{"resourceSpans":[{"scopeSpans":[{"spans":[${spans}]}]}],"x":"${padded}"}`;
/** With enough of what cannot be compressed. */
const paddedTraces = (spans: string) => jsonTraces(spans, padding(spans.length));

// --- The hub and `/v1/requests`.

const hub = (kind: string, name: string, status: number, body: Buffer): HostileBody => ({
  name: `hub ${kind}: ${name}`,
  way: kind,
  headers: {},
  body: joined(body),
  status,
});
const hubFile = (name: string, status: number, text: Buffer | string) =>
  hub('log', name, status, gzipSync(text));
const hubItem = (request: object, rest: object = {}) => JSON.stringify(buildLogItem({ request, ...rest }));
/** A line that is rejected, so that a file unpacks to fewer times its size. */
const paddedLines = (text: string) => `${text}\n{"x":"${padding(text.length)}"}\n`;

const lines = (
  name: string,
  status: number,
  body: Buffer | string,
  says?: RegExp,
  query = '',
): HostileBody => ({
  name: `requests: ${name}`,
  way: `v1/requests${query}`,
  headers: GZIP,
  body: gzipSync(body),
  status,
  ...(says && { says }),
});
const line = (members: object = {}) =>
  JSON.stringify({
    timestamp: new Date(Date.now() - MINUTE_MS).toISOString(),
    method: 'GET',
    url: 'https://shop.example.com/orders/1',
    status_code: 200,
    request_uuid: randomUUID(),
    ...members,
  });
const header = (value: string) => line({ request_headers: [['x', value]] });

/** Bodies of OTLP that come over HTTP and over gRPC. */
const BOTH_WAYS: readonly (() => HostileBody)[] = [
  () =>
    otlp(
      'traces',
      'one attribute of 48 MB',
      413,
      exported(scopeOf(span(attributeOf(9, 'x', fill(TOKENS, 48e6))))),
      UNPACKS_TO_MUCH,
    ),
  () =>
    packedOtlp(
      'traces',
      '300,000 events of one span',
      200,
      exported(scopeOf(span(fill(field(11, field(2, 'e')), 1_500_000)))),
      /at most 50000 values/,
    ),
  () =>
    packedOtlp(
      'traces',
      'a list of a million values',
      200,
      exported(scopeOf(span(field(9, field(1, 'x'), field(2, field(5, fill(field(1, anyText('v')), 5e6))))))),
      /at most 50000 values/,
    ),
  () => {
    let value = anyText('v');
    for (let depth = 0; depth < 5_000; depth++) value = field(5, field(1, value));
    return packedOtlp(
      'traces',
      'a list of 5,000 lists in each other',
      400,
      exported(scopeOf(span(field(9, field(1, 'x'), field(2, value))))),
    );
  },
];
/** The body as the message of a call. */
const overGrpc = (make: () => HostileBody) => (): HostileBody => {
  const body = make();
  return { ...body, name: `gRPC ${body.name}`, way: body.way.replace('v1/', GRPC_WAY) };
};

/** The bodies, made one at a time: all together they are hundreds of megabytes. */
export const BODIES: readonly (() => HostileBody)[] = [
  ...BOTH_WAYS,
  ...BOTH_WAYS.map(overGrpc),
  // The others of the attack.
  () =>
    otlp(
      'traces',
      'one attribute of 8 MB',
      413,
      exported(scopeOf(span(attributeOf(9, 'x', fill(TOKENS, 8e6))))),
      UNPACKS_TO_MUCH,
    ),
  () =>
    otlp(
      'traces',
      '300,000 events of one span',
      413,
      exported(scopeOf(span(fill(field(11, field(2, 'e')), 1_500_000)))),
      UNPACKS_TO_MUCH,
    ),
  () =>
    otlp(
      'traces',
      '400,000 attributes of one span',
      200,
      exported(scopeOf(span(attributesOf(9, 400_000)))),
      /at most 50000 values/,
    ),
  () => lines('33 million empty objects', 422, fill('{}\n', 99e6), /all are rejected/),
  () =>
    lines(
      'six lines with a header of 15 MB',
      413,
      Array.from({ length: 6 }, () => header(TOKENS.repeat(2e6))).join('\n'),
      UNPACKS_TO_MUCH,
    ),
  () =>
    hubFile(
      '8 lines with a header of 7.9 MB',
      413,
      Array.from({ length: 8 }, () => hubItem({ headers: [['x', TOKENS.repeat(1e6)]] })).join('\n'),
    ),

  // Spans.
  ...SECRETS.map(
    (text) => () =>
      packedOtlp(
        'traces',
        `one attribute of 6 MB ${text}`,
        200,
        exported(scopeOf(span(attributeOf(9, 'x', fill(text, 6e6))))),
        /cut to 65536/,
      ),
  ),
  () =>
    packedOtlp(
      'traces',
      'one attribute of 20 MB',
      200,
      exported(scopeOf(span(attributeOf(9, 'x', fill(TOKENS, 20e6))))),
      /at most 8388608 bytes/,
    ),
  () =>
    packedOtlp(
      'traces',
      '900 attributes of 8,000 characters',
      200,
      exported(scopeOf(span(many(900, (n) => attributeOf(9, `a${n}`, fill(TOKENS, 8_000)))))),
    ),
  () =>
    packedOtlp(
      'traces',
      'three spans of 4 MB in attributes',
      200,
      exported(scopeOf(many(3, () => span(many(60, (n) => attributeOf(9, `a${n}`, fill(MEMBERS, 65_000))))))),
    ),
  () =>
    packedOtlp(
      'traces',
      '1,000 events of 7,000 characters',
      200,
      exported(
        scopeOf(span(fill(field(11, field(2, 'e'), attributeOf(3, 'x', fill(PASSWORDS, 7_000))), 7_000_000))),
      ),
    ),
  () =>
    packedOtlp(
      'traces',
      '200,000 links of one span',
      200,
      exported(scopeOf(span(fill(field(13, field(1, 'x'.repeat(16))), 4e6)))),
      /at most 50000 values/,
    ),
  () =>
    packedOtlp(
      'traces',
      '700,000 empty spans',
      413,
      exported(scopeOf(fill(field(2, ''), 1_400_000))),
      /more than 50000 resources, scopes and spans/,
    ),
  () => packedOtlp('traces', '20,000 spans', 200, exported(scopeOf(many(20_000, () => span())))),
  () => packedOtlp('traces', '20,000 scopes', 200, exported(fill(scopeOf(), 20_000 * scopeOf().length))),
  () =>
    packedOtlp(
      'traces',
      'a resource of 100,000 attributes',
      400,
      field(1, resourceOf(attributesOf(1, 100_000)), scopeOf(span())),
      /at most 50000 values/,
    ),
  () =>
    packedOtlp(
      'traces',
      '200 packed bodies of a request that unpack to a thousand times',
      200,
      exported(
        scopeOf(
          many(200, () =>
            span(
              field(
                9,
                field(1, 'apitally.request.body'),
                field(2, field(7, gzipSync(Buffer.alloc(90_000, TOKENS)))),
              ),
            ),
          ),
        ),
      ),
    ),
  () =>
    packedOtlp(
      'traces',
      'attributes of control characters',
      200,
      exported(scopeOf(many(50, () => span(attributeOf(9, 'x', Buffer.alloc(65_000, 1)))))),
    ),
  () =>
    otlpJson(
      'traces',
      '7 MB of escapes in one attribute',
      200,
      paddedTraces(jsonSpan(`"attributes":[${METHOD},${jsonAttribute('x', '\\"'.repeat(3_500_000))}]`)),
      /cut to 65536/,
    ),
  () =>
    otlpJson(
      'traces',
      '100,000 attributes of one span',
      200,
      paddedTraces(jsonSpan(`"attributes":[${METHOD},${list(100_000, (n) => jsonAttribute(`a${n}`, 'v'))}]`)),
      /at most 50000 values/,
    ),
  () =>
    otlpJson(
      'traces',
      '300,000 events of one span',
      200,
      paddedTraces(jsonSpan(`"attributes":[${METHOD}],"events":[${list(300_000, () => '{"name":"e"}')}]`)),
      /at most 50000 values/,
    ),
  () =>
    otlpJson(
      'traces',
      '10,000 spans',
      200,
      paddedTraces(Array.from({ length: 10_000 }, () => jsonSpan(`"attributes":[${METHOD}]`)).join()),
    ),
  () =>
    otlpJson(
      'traces',
      'a million empty resources',
      413,
      `{"resourceSpans":[${list(1_000_000, () => '{}')}],"x":"${padding(3e6)}"}`,
    ),
  () =>
    otlpJson('traces', '30 MB of blanks', 400, joined('{"x":"', padding(30e6), '"', fill(' ', 30e6), '}')),
  () =>
    otlpJson(
      'traces',
      '30 MB of brackets',
      400,
      joined('{"x":"', padding(30e6), '","resourceSpans":', fill('[', 30e6)),
    ),

  // Metrics and log records.
  () =>
    packedOtlp(
      'metrics',
      '200,000 points of one histogram',
      413,
      exported(scopeOf(durations(fill(point(), 200_000 * point().length)))),
      /more than 50000 resources, scopes and metrics and data points/,
    ),
  () =>
    packedOtlp(
      'metrics',
      'a point of two million counts',
      200,
      exported(scopeOf(durations(point(field(6, Buffer.alloc(2e6)))))),
      /at most 50000 values/,
    ),
  () => {
    const pointsOfRoutes = many(100, (n) => point(attributeOf(9, 'http.route', `/a/${n}`)));
    return packedOtlp(
      'metrics',
      '20,000 points with attributes of their own',
      200,
      exported(scopeOf(durations(fill(pointsOfRoutes, 200 * pointsOfRoutes.length)))),
    );
  },
  () =>
    packedOtlp(
      'metrics',
      '300,000 other metrics',
      413,
      exported(scopeOf(fill(field(2, field(1, 'other')), 300_000 * 9))),
    ),
  () =>
    packedOtlp(
      'logs',
      '300,000 log records',
      413,
      exported(
        scopeOf(
          fill(logRecord(field(5, anyText(TOKENS))), 300_000 * logRecord(field(5, anyText(TOKENS))).length),
        ),
      ),
      /more than 50000 resources, scopes and log records/,
    ),
  () =>
    packedOtlp(
      'logs',
      'a body of 7 MB',
      200,
      exported(scopeOf(logRecord(field(5, anyText(fill(TOKENS, 7e6)))))),
    ),
  () =>
    packedOtlp(
      'logs',
      'a record of 400,000 attributes',
      200,
      exported(scopeOf(logRecord(attributesOf(6, 400_000)))),
      /at most 50000 values/,
    ),
  () =>
    otlpJson(
      'logs',
      '20,000 log records',
      200,
      `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${list(20_000, () => `{"timeUnixNano":"${nanoseconds()}","traceId":"${randomBytes(16).toString('hex')}","body":{"stringValue":"${TOKENS}"}}`)}]}]}]}`,
    ),

  // Messages and log files of the hub.
  () => hubFile('20,000 empty objects', 202, paddedLines('{}\n'.repeat(20_000))),
  // Reading ends at the limit of lines, before the ratio.
  () => hubFile('60 MB of line ends', 422, fill('\n', 60 * MIB)),
  () =>
    hubFile(
      '2 lines with a header of 7 MB, below the ratio',
      202,
      paddedLines(
        Array.from({ length: 2 }, () => hubItem({ headers: [['x', ELEMENTS.repeat(440_000)]] })).join('\n'),
      ),
    ),
  () =>
    hubFile(
      'a line with 90,000 headers',
      202,
      paddedLines(hubItem({ headers: Array.from({ length: 90_000 }, (_, n) => [`x-${n}`, TOKENS]) })),
    ),
  () =>
    hubFile(
      '6 lines with bodies at their limit',
      202,
      paddedLines(
        Array.from({ length: 6 }, () =>
          hubItem(
            { body: Buffer.from(JSON.stringify({ a: TOKENS.repeat(12_000) })).toString('base64') },
            {
              response: {
                statusCode: 200,
                responseTime: 0.1,
                headers: [],
                body: Buffer.from(MEMBERS.repeat(9_900)).toString('base64'),
              },
            },
          ),
        ).join('\n'),
      ),
    ),
  () =>
    hubFile(
      'a line with a body of 7 MB',
      202,
      paddedLines(hubItem({ body: Buffer.from(TOKENS.repeat(650_000)).toString('base64') })),
    ),
  () =>
    hubFile(
      '2 lines with 1,000 log messages of 4,000 characters',
      202,
      paddedLines(
        Array.from({ length: 2 }, () =>
          hubItem(
            {},
            {
              logs: Array.from({ length: 1_000 }, () => ({
                timestamp: Date.now() / 1000,
                level: 'info',
                message: PASSWORDS.repeat(200),
              })),
            },
          ),
        ).join('\n'),
      ),
    ),
  () =>
    hubFile(
      'a line with 20,000 spans',
      202,
      paddedLines(
        hubItem(
          {},
          {
            traceId: randomBytes(16).toString('hex'),
            spans: Array.from({ length: 20_000 }, () => ({
              spanId: randomBytes(8).toString('hex'),
              name: 's',
              kind: 'INTERNAL',
              startTime: 1,
              endTime: 2,
              attributes: { token: 'x' },
            })),
          },
        ),
      ),
    ),
  () =>
    hub(
      'sync',
      '20,000 counts in 7 MB',
      202,
      Buffer.from(
        JSON.stringify(
          buildSync({
            requests: Array.from({ length: 20_000 }, (_, n) => ({
              consumer: null,
              method: 'GET',
              path: `/a/${n % 500}`,
              status_code: 200,
              request_count: 1,
              request_size_sum: 0,
              response_size_sum: 0,
              response_times: Object.fromEntries(Array.from({ length: 20 }, (_, k) => [10 * k, 1])),
              request_sizes: {},
              response_sizes: {},
            })),
          }),
        ).slice(0, 7.9e6),
      ),
    ),
  () =>
    hub(
      'startup',
      '300,000 versions',
      422,
      Buffer.from(
        `{"message_uuid":"${randomUUID()}","paths":[],"versions":{${list(300_000, (n) => `"p${n}":"1"`)}}}`,
      ),
    ),

  // Lines of requests.
  () => lines('99 million blank lines', 413, fill('\n', 99e6), /more than 2000000 lines/),
  () =>
    lines(
      '49 million short lines of an access log',
      422,
      fill('x\n', 98e6),
      /all are rejected/,
      '?format=combined',
    ),
  () =>
    lines(
      'a line of 15 MB, below the ratio',
      422,
      joined(`{"x":"${padding(15e6)}"}\n`, header(TOKENS.repeat(1.9e6))),
    ),
  () =>
    lines(
      'two lines with a header of 7 MB, below the ratio',
      200,
      joined(
        `{"x":"${padding(15e6)}"}\n`,
        Array.from({ length: 2 }, () => header(MEMBERS.repeat(600_000))).join('\n'),
      ),
    ),
  () =>
    lines(
      'two lines with a body of 7 MB, below the ratio',
      200,
      joined(
        `{"x":"${padding(15e6)}"}\n`,
        Array.from({ length: 2 }, () => line({ request_body_json: TOKENS.repeat(870_000) })).join('\n'),
      ),
    ),
  () =>
    lines(
      'an exception of 3 MB, and as many log messages and attributes, below the ratio',
      200,
      joined(
        `{"x":"${padding(12e6)}"}\n`,
        line({
          exception: { type: 'E', message: TOKENS.repeat(370_000), stacktrace: MEMBERS.repeat(300_000) },
        }),
        '\n',
        line({
          logs: Array.from({ length: 1_000 }, () => ({
            timestamp: new Date().toISOString(),
            level: 'info',
            message: PASSWORDS.repeat(150),
          })),
        }),
        '\n',
        line({
          spans: [
            {
              span_id: 'a',
              name: 's',
              start_time_ns: 1,
              end_time_ns: 2,
              attributes: { a: TOKENS.repeat(200_000), b: Array.from({ length: 40_000 }, () => 'token=1') },
            },
          ],
        }),
      ),
    ),
  () =>
    lines(
      'lines of a million values',
      200,
      joined(line({ x: padding(3e6) }), '\n', line({ x: Array.from({ length: 1_000_000 }, () => 1) })),
      /at most 50000 values/,
    ),
  () =>
    lines(
      '1,000 lines with headers of 10 KB',
      200,
      joined(
        `{"x":"${padding(10e6)}"}\n`,
        Array.from({ length: 1_000 }, () => header(TOKENS.repeat(1_250))).join('\n'),
      ),
    ),
  () =>
    lines(
      '200,000 lines of an access log without a request',
      422,
      joined(padding(9e6), '\n', fill('203.0.113.9 - - [x] "GET / HTTP/1.1" 200 1\n', 9e6)),
      /all are rejected/,
      '?format=combined',
    ),
  () =>
    lines(
      'a line of an access log with an agent of 7 MB',
      200,
      joined(
        `${padding(7e6)}\n`,
        `203.0.113.9 - - [${logTime()}] "GET / HTTP/1.1" 200 1 "-" "`,
        fill(PASSWORDS, 7e6),
        '"\n',
      ),
      undefined,
      '?format=combined',
    ),
];

/** A time as access logs write it. */
function logTime(): string {
  const [, day = '', month = '', year = '', time = ''] =
    /(\d+) (\w+) (\d+) (\S+)/.exec(new Date(Date.now() - MINUTE_MS).toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}
