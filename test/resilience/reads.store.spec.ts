import type { FailureMode } from '../setup/clickhouse-server/protocol.js';
import { type Operation, OutageHarness, QUERY_TIMEOUT_MS, SLACK_MS, type Timed } from './outage-harness.js';

/**
 * `RESILIENCE_LONG=1`: each failure at each query of an operation. The short form tries each at one of them,
 * in turn.
 */
const IS_LONG = process.env.RESILIENCE_LONG === '1';
const PLACES = [0, 1, 2];

type Expected = 503 | 504;

const exceptions = (status: Expected, ...codes: number[]) =>
  codes.map((code): [string, FailureMode, Expected] => [
    `error ${code}`,
    { kind: 'exception', code },
    status,
  ]);

const inBody = (form: 'plain' | 'broken' | 'tagged' | 'row', code: number, status: Expected) =>
  [`error ${code} behind the rows, ${form}`, { kind: 'exception-in-body', code, form }, status] as const;

const cut = (framing: 'chunked' | 'length' | 'none', where: 'in-row' | 'between-rows') =>
  [`cut ${where}, framed by ${framing}`, { kind: 'cut', framing, where }, 503] as const;

const stranger = (status: number, body: string) =>
  [`somebody else's ${status} with ${body.length} bytes`, { kind: 'stranger', status, body }, 503] as const;

const FAILURES: readonly (readonly [name: string, failure: FailureMode, status: Expected])[] = [
  ['no response', { kind: 'hang' }, 504],
  ['no more after the first rows', { kind: 'hang-in-body' }, 504],
  ['byte after byte', { kind: 'slow-body' }, 504],
  ['reset', { kind: 'reset' }, 503],
  cut('chunked', 'in-row'),
  cut('chunked', 'between-rows'),
  cut('length', 'in-row'),
  cut('length', 'between-rows'),
  cut('none', 'in-row'),
  cut('none', 'between-rows'),
  ...exceptions(503, 33, 40, 202, 210, 241, 394, 439, 516),
  ...exceptions(504, 159, 160),
  inBody('plain', 241, 503),
  inBody('plain', 159, 504),
  inBody('tagged', 241, 503),
  inBody('tagged', 159, 504),
  inBody('row', 241, 503),
  inBody('row', 159, 504),
  // The connection ends as well, so what the engine said is not read.
  inBody('broken', 241, 503),
  inBody('broken', 159, 503),
  stranger(502, '<html>Bad Gateway</html>'),
  stranger(504, 'upstream timed out'),
  stranger(200, '<html>Welcome</html>\n'),
  stranger(200, ''),
];

const BODY = {
  503: '{"detail":"Service temporarily unavailable"}',
  504: '{"detail":"Query timed out"}',
} as const;

/** How a response differs from the expected one; empty if it does not. */
function wrong(response: Timed, expected: Expected, counted: boolean): string[] {
  const { status, headers, text, ms } = response;
  return [
    status === expected ? '' : `status ${status}, not ${expected}`,
    text === BODY[expected] ? '' : `body ${text.slice(0, 200)}`,
    (headers['retry-after'] !== undefined) === (expected === 503) ? '' : 'Retry-After',
    (headers['x-ratelimit-remaining'] !== undefined) === counted ? '' : 'X-RateLimit-*',
    headers['cache-control'] === 'no-store' ? '' : 'Cache-Control',
    /clickhouse|exception/i.test(JSON.stringify(headers)) ? 'the inside shows' : '',
    ms <= QUERY_TIMEOUT_MS + SLACK_MS ? '' : `${Math.round(ms)} ms`,
  ].filter((failure) => failure !== '');
}

describe('a store that fails', () => {
  let harness: OutageHarness;
  let whole: Timed[];
  const figures = { failures: 0, requests: 0, wrong: 0, slowestMs: 0 };

  beforeAll(async () => {
    harness = await OutageHarness.start();
    whole = await harness.callAll();
    expect(whole.map(({ status }) => status)).toEqual(whole.map(() => 200));
    const asked = new Set((await harness.store.queries()).map(({ name }) => name));
    expect([...asked]).toEqual(expect.arrayContaining(harness.operations.flatMap(({ queries }) => queries)));
  });

  afterAll(async () => {
    await harness.stop();
    const { failures, requests, wrong: bad, slowestMs } = figures;
    process.stdout.write(
      `failures tried ${failures}, requests sent ${requests}, wrong responses ${bad}, slowest ${Math.round(slowestMs)} ms\n`,
    );
  });

  /** Asks all operations while the failure hits the query at one place of each. */
  const tryAt = async (failure: FailureMode, expected: Expected, place: number): Promise<string[]> => {
    const operations = harness.operations.filter(({ queries }) => queries.length > place);
    for (const on of new Set(operations.map(({ queries }) => queries[place])))
      await harness.store.fail(failure, { on: on ?? '' });
    const responses = await harness.callAll(operations);
    await harness.store.heal();
    const again = await harness.callAll(operations);
    const ill = operations.flatMap((operation, index) => [
      ...describeFailures(operation, place, wrong(responses[index]!, expected, place > 0)),
      ...describeFailures(operation, place, recovered(operation, again[index]!)),
    ]);
    figures.requests += responses.length + again.length;
    figures.slowestMs = Math.max(figures.slowestMs, ...responses.map(({ ms }) => ms));
    figures.wrong += ill.length;
    return ill;
  };

  const recovered = (operation: Operation, { status, text }: Timed) => {
    const same = text === whole[harness.operations.indexOf(operation)]!.text;
    return status === 200 && same ? [] : [`afterwards ${status} ${text.slice(0, 200)}`];
  };

  const describeFailures = ({ name, queries }: Operation, place: number, failures: string[]) =>
    failures.length === 0 ? [] : [`${name} at ${queries[place]}: ${failures.join(', ')}`];

  it.each(FAILURES)(
    '%s: every operation says so, shows nothing, and recovers',
    async (_, failure, expected) => {
      const places = IS_LONG ? PLACES : [figures.failures % PLACES.length];
      figures.failures++;
      const ill: string[] = [];
      for (const place of places) ill.push(...(await tryAt(failure, expected, place)));
      expect(ill).toEqual([]);
    },
  );
});
