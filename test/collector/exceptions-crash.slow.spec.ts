import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { Config } from '../../src/config/config.js';
import { createAdmin } from '../../src/ops/admin/admin.js';
import {
  Span_SpanKind,
  Status_StatusCode,
} from '../../src/sources/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { dataDirectory, prepare } from '../setup/data-directory.js';
import { describeEmbedded } from '../setup/store.js';
import { TestCollector } from './setup/collector.js';
import { OtlpSender, attributes, logs, nanosecondsAgo, serverSpan, traces } from './setup/otlp.js';

/** More than one batch has. */
const REQUESTS = 450;
/** Where the process is killed, one after the other; undefined: when all is counted, before it is marked. */
const PLACES = [
  'INSERT INTO ingest_batches_v1',
  'INSERT INTO reported_errors',
  // Again: this time what the one before left is applied first.
  'INSERT INTO reported_errors',
  undefined,
  undefined,
];

describeEmbedded('kill -9 while exceptions in traces are counted', () => {
  const data = dataDirectory();
  afterAll(data.remove);

  it('counts each of them once', async () => {
    const { appId } = await prepare(data.env, 0);
    await withStore(async (store) => {
      const config = new Config({ ...data.env, COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '0' });
      const collector = await TestCollector.start(store, config);
      const { token } = await createAdmin(store).writeTokens.create(appId);
      await sendRequests(new OtlpSender(collector.url, token));
      await collector.stop();
    });
    const ends = [];
    for (const place of PLACES) ends.push(await countUntilKilled(place));
    expect(ends).toEqual(
      PLACES.map((place) => ({ signal: 'SIGKILL', said: place === undefined ? 'counted\n' : '' })),
    );
    const [totals] = await withStore((store) =>
      store.rows(
        'totals',
        `SELECT (SELECT sum(errors) FROM error_counts_per_15m_v1) AS counted, count() AS rows,
          uniqExact(request_uuid) AS requests, sum(errors) AS errors, uniqExact(consumer_id) AS consumers FROM errors_v1`,
      ),
    );
    expect(totals).toEqual({
      counted: REQUESTS,
      rows: REQUESTS,
      requests: REQUESTS,
      errors: REQUESTS,
      consumers: 3,
    });
  }, 300_000);

  /** Failed requests whose exceptions come as log records, or are of spans below. */
  async function sendRequests(sender: OtlpSender): Promise<void> {
    const members = attributes({ 'exception.type': 'ValueError', 'exception.message': 'order 7' });
    const failed = Array.from({ length: REQUESTS }, (_, n) =>
      serverSpan({ 'http.response.status_code': 500, 'user.id': `customer ${n % 3}` }),
    );
    const half = REQUESTS / 2;
    const handlers = failed.slice(0, half).map(({ traceId, spanId }) =>
      serverSpan(
        {},
        {
          traceId: traceId!,
          parentSpanId: spanId!,
          kind: Span_SpanKind.INTERNAL,
          attributes: [],
          status: { code: Status_StatusCode.ERROR },
          events: [{ name: 'exception', attributes: members }],
        },
      ),
    );
    const records = failed.slice(half).map(({ traceId, spanId }) => ({
      traceId: traceId!,
      spanId: spanId!,
      timeUnixNano: nanosecondsAgo(59_000),
      eventName: 'exception',
      attributes: members,
    }));
    await sender.deliver('traces', traces([...failed, ...handlers]));
    await sender.deliver('logs', logs(records));
  }

  async function countUntilKilled(place: string | undefined) {
    const preloads = ['./test/setup/typescript.js', './test/setup/kill-at.js'];
    const child = spawn(
      process.execPath,
      [...preloads.flatMap((file) => ['--import', file]), 'test/collector/apps/count-exceptions.ts'],
      {
        env: {
          PATH: process.env.PATH,
          ...data.env,
          COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '0',
          // No statement begins with this.
          KILL_AT: place ?? 'never',
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const [said, [, signal]] = await Promise.all([
      text(child.stdout),
      once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>,
    ]);
    return { signal, said };
  }

  async function withStore<Result>(work: (store: ClickHouse) => Promise<Result>): Promise<Result> {
    const store = await ClickHouse.open(new Config(data.env));
    return work(store).finally(() => store.close());
  }
});
