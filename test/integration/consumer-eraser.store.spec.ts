import { randomBytes, randomUUID } from 'node:crypto';
import { ConsumerEraser } from '../../src/ops/admin/consumer-eraser.js';
import { BatchLog } from '../../src/write/batch-log.js';
import { EMPTY_CAPTURE, toCaptureJson } from '../../src/records/capture.js';
import type { RequestRecord } from '../../src/records/request-record.js';
import { RequestsWriter } from '../../src/write/requests.writer.js';
import { findRequestUuid } from '../../src/records/server-span.js';
import { buildRequest } from '../factories/request.factory.js';
import { type OpenStore, createApp, openStore } from '../setup/store.js';

const newTrace = () => randomBytes(16).toString('hex');
const newSpan = () => randomBytes(8).toString('hex');

interface Span {
  name: string;
  span_id: string;
  parent: string;
  kind: 'SERVER' | 'INTERNAL' | 'CLIENT';
  attributes: object;
}

/** A span by its name; `under` is the span above it. */
function span(name: string, under?: Span, more: Partial<Span> = {}): Span {
  return {
    name,
    span_id: newSpan(),
    parent: under?.span_id ?? '',
    kind: 'INTERNAL',
    attributes: {},
    ...more,
  };
}

describe('the trace of an erased consumer', () => {
  let open: OpenStore;
  let appId: number;
  let writer: RequestsWriter;
  const now = Date.now();

  beforeAll(async () => {
    open = await openStore();
    writer = RequestsWriter.create(open.store);
  });

  afterAll(() => open.remove());

  beforeEach(async () => {
    appId = await createApp(open.store);
  });

  const insert = (table: string, rows: readonly object[]) =>
    open.store.insert(
      table,
      rows.map((row) => JSON.stringify({ app_id: appId, app_env_id: 1, ...row })),
    );

  /**
   * Stores spans, and a log record of each that has its name; without `logged`, `SERVER` spans are no
   * requests.
   */
  async function store(
    trace_id: string,
    spans: readonly Span[],
    logged: readonly { span: Span; consumer: string | null }[],
  ) {
    const rows = spans.map(({ name, span_id, parent, kind, attributes }) => ({
      start_time_ns: `${now}000000`,
      duration_ns: 1,
      trace_id,
      span_id,
      parent_span_id: parent,
      name,
      kind,
      status: 'UNSET',
      scope_name: '',
      scope_version: '',
      attributes: JSON.stringify(attributes),
      events: '[]',
    }));
    await insert('logged_spans', rows);
    await logRecords(
      trace_id,
      spans.map(({ name, span_id }) => ({ message: name, span_id })),
    );
    await report(
      trace_id,
      ...logged.map(({ span: { span_id }, consumer }) => ({
        request_uuid: findRequestUuid(trace_id, span_id, BigInt(now) * 1_000_000n),
        consumer: consumer === null ? null : { identifier: consumer },
      })),
    );
  }

  const logRecords = (
    trace_id: string,
    records: readonly { message: string; span_id?: string; server_span_id?: string }[],
  ) =>
    insert(
      'logged_messages',
      records.map((record) => ({
        timestamp_ns: `${now}000000`,
        trace_id,
        span_id: '',
        server_span_id: '',
        level: 'info',
        logger: '',
        file: '',
        line: 0,
        ...record,
      })),
    );

  /** Logs requests of the trace. */
  const report = (trace_id: string, ...requests: Partial<RequestRecord>[]) =>
    writer.write(
      appId,
      requests.map((request) =>
        buildRequest({
          timestamp: now,
          captured_json: toCaptureJson({ ...EMPTY_CAPTURE, trace_id }),
          ...request,
        }),
      ),
    );

  const erase = (identifier: string) =>
    new ConsumerEraser(open.store, new BatchLog(open.store), false).erase(appId, identifier);

  const remaining = async () => {
    const list = async (sql: string) =>
      (await open.store.rows<{ text: string }>('test.left', sql, { app_id: appId })).map(({ text }) => text);
    return {
      spans: await list('SELECT name AS text FROM spans_v1 WHERE app_id = {app_id:UInt32} ORDER BY text'),
      logs: await list(
        'SELECT message AS text FROM application_logs_v1 WHERE app_id = {app_id:UInt32} ORDER BY text',
      ),
    };
  };

  it('is deleted as a whole if no other consumer has a request in it', async () => {
    const trace = newTrace();
    const root = span('root');
    const ann = span('ann', root, { kind: 'SERVER' });
    const nobody = span('nobody', ann, { kind: 'SERVER' });
    await store(
      trace,
      [root, ann, nobody, span('below', nobody), span('orphan', undefined, { parent: newSpan() })],
      [
        { span: ann, consumer: 'ann' },
        { span: nobody, consumer: null },
      ],
    );
    await logRecords(trace, [{ message: 'of no span' }]);
    expect(await erase('ann')).toMatchObject({ requests: 1, spans: 5, application_logs: 6 });
    expect(await remaining()).toEqual({ spans: [], logs: [] });
  });

  it('loses the spans of its requests and those below them, and none of a request of another consumer', async () => {
    const trace = newTrace();
    const gateway = span('gateway');
    const ann = span('ann', gateway, { kind: 'SERVER' });
    const call = span('call of ann', ann, { kind: 'CLIENT' });
    const bob = span('bob', call, { kind: 'SERVER' });
    const query = span('query of bob', bob);
    const annAgain = span('ann below bob', query, { kind: 'SERVER' });
    const nobody = span('nobody', call, { kind: 'SERVER' });
    const spans = [
      gateway,
      ann,
      call,
      bob,
      query,
      annAgain,
      nobody,
      span('query of ann', annAgain),
      span('bob’s other', gateway),
    ];
    await store(trace, spans, [
      { span: ann, consumer: 'ann' },
      { span: bob, consumer: 'bob' },
      { span: annAgain, consumer: 'ann' },
      { span: nobody, consumer: null },
    ]);
    await logRecords(trace, [
      { message: 'ann by her request', span_id: query.span_id, server_span_id: ann.span_id },
      { message: 'bob by his request', span_id: call.span_id, server_span_id: bob.span_id },
      { message: 'of no span' },
    ]);
    const unstored = newSpan();
    await report(trace, {
      request_uuid: findRequestUuid(trace, unstored, BigInt(now) * 1_000_000n),
      consumer: { identifier: 'ann' },
    });
    await logRecords(trace, [{ message: 'ann by a span that is not stored', server_span_id: unstored }]);

    expect(await erase('ann')).toMatchObject({ requests: 3, spans: 5, application_logs: 7 });
    const kept = ['bob', 'bob’s other', 'gateway', 'query of bob'];
    expect(await remaining()).toEqual({
      spans: kept,
      logs: [...kept, 'bob by his request', 'of no span'].sort(),
    });
  });

  it('loses the spans that a client library captured with its requests, and keeps those of others', async () => {
    const trace = newTrace();
    const [ann, bob] = [span('ann'), span('bob')];
    await store(trace, [ann, bob, span('below ann', ann), span('below bob', bob), span('unknown')], []);
    const capture = ({ name, span_id }: Span) =>
      toCaptureJson({
        ...EMPTY_CAPTURE,
        trace_id: trace,
        spans: [
          {
            span_id,
            parent_span_id: null,
            name,
            kind: 'INTERNAL',
            start_time_ns: 1n,
            end_time_ns: 2n,
            duration_ns: 1n,
            status: 'UNSET',
            // As an application may name its own: bob's stays.
            attributes: { span_id: bob.span_id },
          },
        ],
      });
    await report(
      trace,
      { request_uuid: randomUUID(), consumer: { identifier: 'ann' }, captured_json: capture(ann) },
      { request_uuid: randomUUID(), consumer: { identifier: 'bob' }, captured_json: capture(bob) },
    );
    expect(await erase('ann')).toMatchObject({ requests: 1, spans: 2, application_logs: 2 });
    const kept = ['below bob', 'bob', 'unknown'];
    expect(await remaining()).toEqual({ spans: kept, logs: kept });
  });

  it('loses spans that name it, and keeps requests of others that were not logged', async () => {
    const trace = newTrace();
    const ann = span('ann', undefined, { kind: 'SERVER', attributes: { 'user.id': ' ann ' } });
    const bob = span('bob', ann, { kind: 'SERVER', attributes: { 'enduser.id': 'bob' } });
    const mention = span('ann in a middleware of bob', bob, { attributes: { 'user.id': 'ann' } });
    await store(trace, [ann, bob, mention, span('below', mention), span('of bob', bob)], []);
    // The consumer has a name alone.
    await report(newTrace(), { consumer: { identifier: 'ann' } });
    expect(await erase('ann')).toMatchObject({ spans: 3, application_logs: 3 });
    const kept = ['bob', 'of bob'];
    expect(await remaining()).toEqual({ spans: kept, logs: kept });
  });

  it('is found among many that are shared, and parents in a circle end', async () => {
    const shared = Array.from({ length: 60 }, newTrace);
    for (const trace of shared) {
      const ann = span('ann', undefined, { kind: 'SERVER' });
      const bob = span('bob', ann, { kind: 'SERVER' });
      const [first, second] = [span('circle', ann), span('circle')];
      second.parent = first.span_id;
      first.parent = second.span_id;
      await store(
        trace,
        [ann, bob, first, second],
        [
          { span: ann, consumer: 'ann' },
          { span: bob, consumer: 'bob' },
        ],
      );
    }
    const alone = span('alone', undefined, { kind: 'SERVER' });
    await store(newTrace(), [alone], [{ span: alone, consumer: 'ann' }]);
    expect(await erase('ann')).toMatchObject({ requests: 61, spans: 61, application_logs: 61 });
    const { spans } = await remaining();
    expect(spans.filter((name) => name === 'bob')).toHaveLength(60);
    expect(spans).not.toContain('ann');
    expect(spans).not.toContain('alone');
  });
});
