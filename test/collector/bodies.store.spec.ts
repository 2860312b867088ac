import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { findRequestUuid } from '../../src/records/server-span.js';
import { queryParquet } from '../setup/duckdb.js';
import { postFor } from '../setup/post-file.js';
import type { Tenant } from '../setup/tenant.js';
import { TestService } from './setup/collector.js';
import { buildLogItem } from './setup/messages.js';
import { OtlpSender, serverSpan, traces } from './setup/otlp.js';

/** Bodies that are JSON, which stay as they are. */
const JSON_BODIES = [
  '{"a": 1.0,"b":"x\\u00e9"}',
  '[]',
  '"text"',
  '1e999',
  '12345678901234567890',
  ' {"a":1}\r\n',
  '"\\ud83d\\udca5"',
  '"\\\\ud800"',
  'null',
];
/** Bodies that are none. */
const TEXTS = [
  'Internal Server Error',
  '<h1>404</h1>\n',
  '{"items":[1,2',
  '{"a":1}\n{"a":2}\n',
  '{"a":NaN}',
  '{a:1}',
  '[1,]',
  '"\\ud800"',
  '\uFEFF{}',
  'say "hi" \\ 株 💥',
  ' ',
  '01',
];
const BODIES = [...JSON_BODIES, ...TEXTS];

const expected = (body: string) => (JSON_BODIES.includes(body) ? body : JSON.stringify(body.toWellFormed()));

let service: TestService;

beforeAll(async () => {
  // Random digits may be those of a card.
  service = await TestService.start({ COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '0', REDACTION: 'off' });
});

afterAll(() => service.stop());

const hex = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('hex');

async function start() {
  const client = await service.tenant();
  const { token } = await service.api.admin.writeTokens.create(client.tenant.appId);
  const postLines = (lines: string) =>
    fetch(`${service.collector.url}/v1/requests`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: lines,
    });
  return { client, token, postLines };
}

/** A line of NDJSON of a request with that body. */
function buildLine(body: string, request_uuid = randomUUID()) {
  return {
    request_uuid,
    timestamp: new Date(Date.now() - 60_000).toISOString(),
    method: 'POST',
    url: 'https://shop.example/',
    status_code: 500,
    request_body_json: body,
    response_body_json: body,
  };
}

const exportFile = async (tenant: Tenant, format: string) => {
  const fields = ['request_body_json', 'response_body_json', 'status_code', 'response_time_ms'];
  const { body } = await postFor(service.api.url, `/v1/apps/${tenant.appId}/request-logs`, {
    headers: { 'Api-Key': tenant.key },
    body: { format, fields, since: new Date(Date.now() - 3_600_000).toISOString() },
  });
  return body;
};

/** Bodies as a public client stores them, in columns of JSON. */
const readAsJson = async (tenant: Tenant) => {
  const rows = await queryParquet(await exportFile(tenant, 'parquet'), [
    'CREATE TABLE request_logs (request_body_json JSON, response_body_json JSON)',
    'INSERT INTO request_logs SELECT request_body_json, response_body_json FROM rows',
    'SELECT request_body_json::VARCHAR, response_body_json::VARCHAR FROM request_logs',
  ]);
  return rows as [string, string][];
};

/** What details, an export and a public client have of the bodies of each request. */
async function readBodies(tenant: Tenant): Promise<Record<string, string[]>> {
  const lines = (await exportFile(tenant, 'ndjson')).toString('utf8').split('\n').slice(0, -1);
  const rows = lines.map((line) => JSON.parse(line) as ReturnType<typeof buildLine>);
  const details = await Promise.all(
    rows.map(async ({ request_uuid }) => (await tenant.get(`request-logs/${request_uuid}`)).body),
  );
  const sort = (texts: string[]) => [...new Set(texts)].sort();
  return {
    details: sort(details.flatMap((detail) => [detail.request_body_json, detail.response_body_json])),
    export: sort(rows.flatMap((row) => [row.request_body_json, row.response_body_json])),
    client: sort((await readAsJson(tenant)).flat()),
  };
}

describe('bodies', () => {
  const all = BODIES.map(expected).sort();
  const everywhere = { details: all, export: all, client: all };

  it('of the hub are JSON everywhere', async () => {
    const { client } = await start();
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const items = BODIES.map((body) =>
      buildLogItem({ request: { body: base64(body) }, response: { body: base64(body) } }),
    );
    expect((await client.sendLog(items)).status).toBe(202);
    expect(await readBodies(client.tenant)).toEqual(everywhere);
  });

  it('of OpenTelemetry are JSON everywhere', async () => {
    const { client, token } = await start();
    const spans = BODIES.map((body) =>
      serverSpan({ 'apitally.request.body': body, 'apitally.response.body': Buffer.from(body) }),
    );
    await new OtlpSender(service.collector.url, token).deliver('traces', traces(spans));
    const uuid = findRequestUuid(hex(spans[0]?.traceId), hex(spans[0]?.spanId), spans[0]!.startTimeUnixNano!);
    expect((await client.tenant.get(`request-logs/${uuid}`)).body.request_body_json).toBe(
      expected(BODIES[0]!),
    );
    expect(await readBodies(client.tenant)).toEqual(everywhere);
  });

  it('of lines are JSON everywhere, and the same when they come back', async () => {
    const { client, postLines } = await start();
    const lines = [...BODIES, ''].map((body) => JSON.stringify(buildLine(body)));
    expect((await postLines(lines.join('\n'))).status).toBe(200);
    const bodies = [...all, '""'].sort();
    expect(await readBodies(client.tenant)).toEqual({ details: bodies, export: bodies, client: bodies });
    const copy = await start();
    const exported = (await exportFile(client.tenant, 'ndjson')).toString('utf8');
    expect((await copy.postLines(exported)).status).toBe(200);
    expect((await exportFile(copy.client.tenant, 'ndjson')).toString('utf8')).toBe(exported);
  });

  it('of any text are JSON to a public client, with the text in it', async () => {
    const { client, postLines } = await start();
    const piece = fc.oneof(
      fc.constantFrom(
        ...Array.from('{}[]":,\\-+. \t\n/*#'),
        'true',
        'null',
        'NaN',
        'Infinity',
        '1',
        '0',
        '.5',
        '1e9',
        '//',
      ),
      fc.constantFrom(
        '\\u',
        '\\ud83d',
        '\\udca5',
        '\\n',
        '\\x',
        '\u0000',
        '\u2028',
        '\uFEFF',
        '株',
        '"a"',
        '{}',
        '[]',
      ),
      fc.json({ maxDepth: 3 }),
    );
    const texts = fc.sample(
      fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('')),
      2_000,
    );
    texts.push('['.repeat(5_000) + ']'.repeat(5_000), '{"a":'.repeat(3_000) + '1' + '}'.repeat(3_000));
    const response = await postLines(texts.map((text) => JSON.stringify(buildLine(text))).join('\n'));
    expect(response.status).toBe(200);
    const stored = (await readAsJson(client.tenant)).map(([request]) => request);
    expect(stored).toHaveLength(texts.length);
    const isJson = (text: string) => {
      try {
        JSON.parse(text);
        return true;
      } catch {
        return false;
      }
    };
    for (const text of stored) expect(isJson(text)).toBe(true);
    const storedValues = new Set(stored.flatMap((text) => [text, JSON.parse(text) as unknown]));
    const missing = texts
      .map((text) => text.replaceAll('\0', '\uFFFD'))
      .filter((text) => !storedValues.has(text));
    expect(missing).toEqual([]);
  });
});
