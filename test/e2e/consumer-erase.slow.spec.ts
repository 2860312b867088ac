import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Span_SpanKind } from '../../src/sources/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import { logFile } from '../collector/setup/log-file.js';
import { buildCount, buildLogItem, buildSync } from '../collector/setup/messages.js';
import { OtlpSender, attributes, logs, nanosecondsAgo, serverSpan, traces } from '../collector/setup/otlp.js';
import { post } from '../collector/setup/post.js';
import { runCommand } from '../setup/command.js';
import { administer, dataDirectory } from '../setup/data-directory.js';
import { eventually } from '../setup/eventually.js';
import { ProductProcess } from '../setup/product-process.js';
import { findInFiles, findInTables } from '../setup/stored-text.js';
import { describeEmbedded } from '../setup/store.js';

interface Consumer {
  id: number;
  identifier: string;
  name: string;
  group: { name: string } | null;
  last_request_at: string | null;
}

/** Texts of one consumer; none of them occurs elsewhere. */
function createPerson(name: string) {
  const identifier = `${name}@people.example`;
  return { identifier, name: `${name} Fullname`, group: `${name} Group`, text: `${name}-text` };
}
type Person = ReturnType<typeof createPerson>;

const listTexts = (person: Person) => Object.values(person);
/** As the store keeps it while the consumer is erased. */
const hashIdentifier = ({ identifier }: Person) => createHash('sha256').update(identifier).digest('hex');

describeEmbedded('consumer erase', () => {
  const data = dataDirectory();
  const directory = data.env.DATA_DIR!;
  let server: ProductProcess;
  let sender: OtlpSender;
  let hub: string;
  let key: string;

  beforeAll(async () => {
    const env = { ...data.env, COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '0', RATE_LIMIT_PER_MINUTE: '10000' };
    server = await ProductProcess.start(['serve'], env);
    const { clientId, token, ...created } = await administer(data.env, async (admin, store) => {
      // Merges would remove what the log of batches does not need any more, sooner or later.
      await store.command(
        'ALTER TABLE ingest_batches_v1 MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1',
      );
      const { id } = await admin.teams.create('Acme', 'premium');
      const app = await admin.apps.create(id, 'Shop', 'express');
      const { token } = await admin.writeTokens.create(app.id);
      return { clientId: app.client_id, token, ...(await admin.keys.create(id)) };
    });
    ({ key } = created);
    hub = `${server.collectorUrl}/v2/${clientId}/prod`;
    sender = new OtlpSender(server.collectorUrl, token);
  });

  afterAll(async () => {
    await ProductProcess.endAll();
    data.remove();
  });

  async function run(...args: string[]): Promise<Record<string, unknown>> {
    const { code, out, err } = await runCommand(args, data.env);
    expect([code, code === 0 ? '' : err.join('\n')]).toEqual([0, '']);
    return JSON.parse(out[0] ?? 'null') as Record<string, unknown>;
  }

  const erase = ({ identifier }: Person) =>
    run('consumer', 'erase', '--app', '1', '--identifier', identifier, '--yes');

  async function get<Body>(path: string): Promise<Body> {
    const response = await fetch(`${server.apiUrl}/v1/apps/1/${path}`, { headers: { 'Api-Key': key } });
    expect(response.status).toBe(200);
    return (await response.json()) as Body;
  }

  const listConsumers = async () => (await get<{ data: Consumer[] }>('consumers?limit=100')).data;
  const listRequests = async () =>
    (await get<{ data: { request_uuid: string; consumer: string }[] }>('request-logs?limit=100')).data;

  /**
   * One window for all queries: the default ends with the current minute, which can change between two of
   * them.
   */
  const window = {
    since: new Date(Date.now() - 3 * 86_400_000).toISOString(),
    until: new Date(Date.now() + 3_600_000).toISOString(),
  };

  /** Requests, bytes and errors of all time by consumer. */
  async function readTotals(): Promise<Record<string, unknown>[]> {
    const response = await fetch(`${server.apiUrl}/v1/apps/1/metrics`, {
      method: 'POST',
      headers: { 'Api-Key': key, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...window,
        group_by: ['consumer_id'],
        metrics: ['requests', 'bytes_received', 'server_errors', 'response_time_p95'],
      }),
    });
    const lines = (await response.text()).trim().split('\n');
    return lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .sort((a, b) => Number(a.consumer_id) - Number(b.consumer_id));
  }

  /**
   * Sends everything that an app can say of a consumer, through every way in. Of two requests that the
   * library reports, other services have spans.
   *
   * @returns the traces of all, those of these two first
   */
  async function send(person: Person): Promise<Uint8Array[]> {
    const { identifier, name, group, text } = person;
    const consumer = { identifier, name, group, attributes: { text } };
    const base64 = Buffer.from(JSON.stringify({ text })).toString('base64');
    const traceId = randomBytes(16);
    const reported = [randomBytes(16), randomBytes(16)];
    const toItem = (id: Buffer) =>
      buildLogItem({
        request: {
          consumer,
          body: base64,
          url: `https://api.example.com/a?x=${text}`,
          headers: [['x-text', text]],
        },
        exception: { type: `${text}Error`, message: text, traceback: text },
        logs: [{ timestamp: Date.now() / 1000, message: text, level: 'info' }],
        traceId: id.toString('hex'),
        spans: [
          {
            spanId: randomBytes(8).toString('hex'),
            name: text,
            startTime: `${Date.now()}000000`,
            endTime: `${Date.now()}000000`,
            attributes: { text },
          },
        ],
      });
    await accept(`${hub}/log?uuid=${randomUUID()}`, logFile(reported.map(toItem)));
    const error = {
      consumer: identifier,
      method: 'GET',
      path: '/a',
      error_count: 2,
      msg: text,
      type: 'ValueError',
    };
    const sync = buildSync({
      requests: [buildCount({ consumer: identifier, request_count: 7, response_times: { 10: 7 } })],
      validation_errors: [{ ...error, loc: ['query', text] }],
      server_errors: [{ ...error, traceback: text }],
      consumers: [consumer],
    });
    await accept(`${hub}/sync`, JSON.stringify(sync));
    const span = serverSpan(
      { 'apitally.consumer.identifier': identifier, 'apitally.request.body': JSON.stringify({ text }) },
      { traceId },
    );
    const inner = serverSpan(
      { text },
      { traceId, parentSpanId: span.spanId!, kind: Span_SpanKind.CLIENT, name: text },
    );
    // A health check is not logged; its span is.
    const unlogged = serverSpan({
      'url.path': '/healthz',
      'http.route': '/healthz',
      // As an application may send it; it is stored without the white space around it.
      'user.id': `\t${identifier}\u00a0`,
      text,
    });
    const elsewhere = reported.map((id) =>
      serverSpan({ text }, { traceId: id, kind: Span_SpanKind.INTERNAL, name: text }),
    );
    await sender.deliver('traces', traces([span, inner, unlogged, ...elsewhere]));
    const body = { value: { case: 'stringValue' as const, value: text } };
    const log = { timeUnixNano: nanosecondsAgo(60_000), traceId, spanId: span.spanId!, body };
    await sender.deliver(
      'logs',
      logs([log, { ...log, traceId: unlogged.traceId!, spanId: unlogged.spanId! }]),
    );
    await sender.deliver(
      'logs',
      logs(
        [
          {
            eventName: 'apitally.consumer.update',
            body: { value: { case: 'kvlistValue', value: { values: attributes(consumer) } } },
          },
        ],
        { scope: 'apitally' },
      ),
    );
    await importLines(person, 3);
    return [...reported, traceId, unlogged.traceId!];
  }

  async function accept(url: string, body: string | Buffer) {
    expect(await post(url, body)).toMatchObject({ body: { status: 'accepted' } });
  }

  /** Imports requests of a person. */
  async function importLines({ identifier, name, group, text }: Person, lines: number) {
    const rows = Array.from({ length: lines }, (_, n) => ({
      timestamp: new Date(Date.now() - 60_000 - n).toISOString(),
      method: 'POST',
      url: `/b?text=${text}`,
      path: '/b',
      status_code: 500,
      request_size_bytes: 100,
      consumer: { identifier, name, group, attributes: { text } },
      request_body_json: JSON.stringify({ text }),
      trace_id: randomBytes(16).toString('hex'),
    }));
    const file = join(directory, '..', `people-${process.pid}.ndjson`);
    writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    expect(await run('import', file, '--app', '1')).toMatchObject({ imported: lines });
    rmSync(file);
  }

  const [ann, bob, carl, emil] = ['Annabella', 'Bobastian', 'Carlotto', 'Emilberto'].map(createPerson) as [
    Person,
    Person,
    Person,
    Person,
  ];
  /** Applications may send a number as such. */
  const dora: Person = { ...createPerson('Doralice'), identifier: '730552891104' };

  it('needs --yes off a terminal, a consumer, and no key that is limited to it', async () => {
    await importLines(carl, 1);
    const { key: limited } = (await run(
      ...['key', 'create', '--team', '1', '--apps', '1', '--consumer', ` ${carl.identifier} `],
    )) as { key: string };
    const args = ['consumer', 'erase', '--app', '1', '--identifier'];
    for (const [more, message] of [
      [[carl.identifier], '--yes'],
      [['nobody', '--yes'], 'no consumer'],
      [[carl.identifier, '--yes'], `Delete them first`],
    ] as const) {
      const { code, err } = await runCommand([...args, ...more], data.env);
      expect([code, err.join('\n')]).toEqual([1, expect.stringContaining(message)]);
    }
    await run('key', 'delete', limited.split('.')[0]!, '--yes');
  });

  it('is not kept by a key that is limited to a consumer of another app with the same identifier', async () => {
    const { id } = await run('app', 'create', '--team', '1', '--name', 'Other shop');
    const { identifier } = createPerson('Heinrich');
    await run('key', 'create', '--team', '1', '--apps', String(id), '--consumer', identifier);
    const eraseOf = (app: string) =>
      runCommand(['consumer', 'erase', '--app', app, '--identifier', identifier, '--yes'], data.env);
    expect((await eraseOf(String(id))).err.join('\n')).toContain('Delete them first');
    expect((await eraseOf('1')).err.join('\n')).toContain('no consumer');
  });

  it('makes a new consumer of requests that come afterwards, beside the server that knew the old one', async () => {
    const old = (await listConsumers()).find(({ identifier }) => identifier === carl.identifier)!;
    expect(await erase(carl)).toMatchObject({ consumer_ids: [old.id], requests: 1 });
    await accept(
      `${hub}/sync`,
      JSON.stringify(buildSync({ requests: [buildCount({ consumer: carl.identifier })] })),
    );
    const consumers = await eventually(async () => {
      const all = await listConsumers();
      return all.some(({ identifier }) => identifier === carl.identifier) && all;
    });
    const again = consumers.filter(({ identifier }) => identifier === carl.identifier);
    expect(again).toHaveLength(1);
    expect(again[0]!.id).toBeGreaterThan(old.id);
    expect(again[0]).toMatchObject({ name: carl.identifier, group: null });
    await importLines(carl, 1);
    expect((await listConsumers()).filter(({ identifier }) => identifier === carl.identifier)).toEqual([
      expect.objectContaining({
        id: again[0]!.id,
        name: carl.name,
        group: expect.objectContaining({ name: carl.group }) as object,
      }),
    ]);
  });

  it('continues an interrupted erasure for the same identifier alone', async () => {
    const [{ identifier }, other] = [dora, emil];
    const sent = [
      serverSpan({ 'apitally.consumer.identifier': identifier }),
      serverSpan({ 'user.id': Number(identifier) }, { kind: Span_SpanKind.INTERNAL, name: dora.text }),
    ];
    await sender.deliver('traces', traces(sent));
    await importLines(other, 1);
    const find = async (name: string) =>
      (await listConsumers()).find((consumer) => consumer.identifier === name);
    const { id } = await eventually(() => find(identifier));
    const args = ['consumer', 'erase', '--app', '1', '--yes', '--identifier'];
    const interrupted = await ProductProcess.begin([...args, identifier], data.env);
    await eventually(() => find(`erasing-${id}`));
    await interrupted.crash();
    // As if that had been behind the deletion of its names.
    await administer(data.env, (_, store) =>
      store.command(
        "ALTER TABLE consumers_v1 DELETE WHERE id = {id:UInt32} AND identifier NOT LIKE 'erasing-%' SETTINGS mutations_sync = 2",
        { id },
      ),
    );

    const typo = await runCommand([...args, 'typo@people.example'], data.env);
    expect([typo.code, typo.err.join('\n')]).toEqual([1, expect.stringContaining('no consumer')]);
    const { id: otherId } = (await find(other.identifier))!;
    expect(await erase(other)).toMatchObject({ consumer_ids: [otherId], requests: 1 });
    expect(await find(`erasing-${id}`)).toBeDefined();

    expect(await erase(dora)).toMatchObject({ consumer_ids: [id], requests: 1, spans: 2 });
    expect(await find(`erased-${id}`)).toMatchObject({ name: `erased-${id}` });
  });

  it('erases the consumer from responses, columns and files, keeps the totals, and nothing of another', async () => {
    const traceIds = await send(ann);
    await send(bob);
    const { appId: otherId, token } = await administer(data.env, async (admin) => {
      const { id } = await admin.apps.create(1, 'Shop of another', 'express');
      return { appId: id, ...(await admin.writeTokens.create(id)) };
    });
    await new OtlpSender(server.collectorUrl, token).deliver(
      'traces',
      traces(traceIds.map((traceId) => serverSpan({}, { traceId }))),
    );
    const countSpans = () =>
      administer(data.env, async (_, store) => {
        const sql = 'SELECT count() AS spans FROM spans_v1 WHERE app_id = {app_id:UInt32}';
        return (await store.rows<{ spans: number }>('test.spans', sql, { app_id: otherId }))[0]?.spans;
      });
    expect(await countSpans()).toBe(traceIds.length);
    const counted = 12;
    await eventually(
      async () => (await readTotals()).filter(({ requests }) => requests === counted).length === 2,
    );
    const consumer = (await listConsumers()).find(({ identifier }) => identifier === ann.identifier)!;
    expect(consumer).toMatchObject({ name: ann.name, group: { name: ann.group } });
    const findRequests = async ({ identifier }: Person) =>
      (await listRequests()).filter((request) => request.consumer === identifier);
    const bobs = await findRequests(bob);
    expect(await findRequests(ann)).toHaveLength(6);
    const readDetails = (requests: { request_uuid: string }[]) =>
      Promise.all(requests.map(({ request_uuid }) => get<object>(`request-logs/${request_uuid}`)));
    const [details, totals] = [await readDetails(bobs), await readTotals()];
    const before = await findInTablesBeside(listTexts(ann));
    expect(before).toBeGreaterThan(0);

    expect(await erase(ann)).toMatchObject({ consumer_ids: [consumer.id], requests: 6, errors: 2 });

    expect(await countSpans()).toBe(traceIds.length);
    expect(await readTotals()).toEqual(totals);
    expect(await findRequests(ann)).toEqual([]);
    expect(await readDetails(await findRequests(bob))).toEqual(details);
    const consumers = await listConsumers();
    expect(consumers.find(({ id }) => id === consumer.id)).toMatchObject({
      identifier: `erased-${consumer.id}`,
      name: `erased-${consumer.id}`,
      group: null,
    });
    expect(consumers.find(({ identifier }) => identifier === bob.identifier)).toMatchObject({
      name: bob.name,
    });
    expect(await server.stop()).toBe(0);
    const gone = [...[ann, dora, emil].flatMap(listTexts), ...[ann, dora, emil].map(hashIdentifier)];
    expect(await findInTables(directory, gone)).toEqual({});
    expect(findInFiles(directory, gone)).toEqual([]);
    const kept = new Set(Object.values(await findInTables(directory, listTexts(bob))).flat());
    expect([...kept].sort()).toEqual(listTexts(bob).sort());
  });

  /** How many of the texts the API shows. */
  async function findInTablesBeside(texts: readonly string[]): Promise<number> {
    const shown = JSON.stringify([await listConsumers(), await listRequests()]);
    return texts.filter((text) => shown.includes(text)).length;
  }

  it('is completed by a second run when the first one is killed', async () => {
    const people = ['Dorothea', 'Emiliana', 'Friedrich'].map(createPerson);
    for (const person of people) await importLines(person, 20);
    const args = (person: Person) => [
      'consumer',
      'erase',
      '--app',
      '1',
      '--identifier',
      person.identifier,
      '--yes',
    ];
    const { ms } = await ProductProcess.run(args(people[0]!), data.env);
    for (const [index, person] of people.slice(1).entries()) {
      await ProductProcess.run(args(person), data.env, { killAfterMs: ms * (0.6 + 0.2 * index) });
      const { code, err } = await ProductProcess.run(args(person), data.env);
      // Refused if the first run was done already.
      if (code !== 0) expect(err.join('\n')).toContain('no consumer');
    }
    const gone = people.flatMap(listTexts);
    expect(await findInTables(directory, gone)).toEqual({});
    expect(findInFiles(directory, gone)).toEqual([]);
  });
});
