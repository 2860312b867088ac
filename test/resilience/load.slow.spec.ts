import { setTimeout as pause } from 'node:timers/promises';
import { ProductProcess } from '../setup/product-process.js';
import { Connections, type Sample, quantile } from './load.js';
import { OutageHarness } from './outage-harness.js';

const SECONDS = Number(process.env.LOAD_SECONDS ?? 2);
const CONNECTIONS = 500;
const TIMES_TOO_MUCH = 4;
const RECOVERED_WITHIN_S = 5;
/** Five hundred requests under way, with their responses, and what the collector has not yet collected. */
const MOST_GROWTH_MIB = 200;

const UNAVAILABLE = '{"detail":"Service temporarily unavailable"}';

describe(`${CONNECTIONS} connections that ask for ${TIMES_TOO_MUCH} times what can be served`, () => {
  let harness: OutageHarness;
  let api: ProductProcess;

  beforeAll(async () => {
    harness = await OutageHarness.start();
    api = await ProductProcess.start([], {
      COLLECTOR: 'off',
      CLICKHOUSE_URL: harness.store.url,
      CLICKHOUSE_USER: harness.store.user,
      CLICKHOUSE_PASSWORD: harness.store.password,
      CLICKHOUSE_DATABASE: harness.database,
      RATE_LIMIT_PER_MINUTE: '1000000000',
    });
  });

  afterAll(async () => {
    expect(await api.stop()).toBe(0);
    await harness.stop();
  });

  const target = () => {
    const { path } = harness.operations.find(({ name }) => name === 'request logs')!;
    return { url: api.apiUrl + path, headers: { 'api-key': harness.key } };
  };
  const p95 = (samples: readonly Sample[]) =>
    quantile(
      samples.map(({ ms }) => ms),
      0.95,
    );

  /** Seconds until the latency of half a second is what it was before. */
  const secondsTo = async (normalMs: number, connections: Connections): Promise<number> => {
    const started = performance.now();
    while (performance.now() - started < 30_000) {
      const begun = performance.now();
      if (p95(await connections.press(0.5)) <= normalMs) return (begun - started) / 1000;
    }
    return Infinity;
  };

  it(
    'get responses or clean 503s, in bounded memory, and all is as before in seconds',
    async () => {
      const single = new Connections(target(), 1);
      const few = new Connections(target(), 16);
      const many = new Connections(target(), CONNECTIONS);
      const whole = (await single.call()).text;
      await few.press(1);
      const capacity = (await few.press(2)).length / 2;
      const normalMs = p95(await single.press(1));
      const before = api.memory.rssMb;

      let peak = before;
      const watch = new AbortController();
      const watching = (async () => {
        while (!watch.signal.aborted) {
          peak = Math.max(peak, api.memory.rssMb);
          await pause(100);
        }
      })();
      const samples = await many.press(SECONDS, TIMES_TOO_MUCH * capacity);
      watch.abort();
      await watching;
      // Nobody's idea of normal is exact: what a busy machine adds now and then is no sign of strain.
      const recovered = await secondsTo(normalMs * 2 + 5, single);

      const good = samples.filter(({ status, text }) => status === 200 && text === whole);
      const refused = samples.filter(({ status, text }) => status === 503 && text === UNAVAILABLE);
      process.stdout.write(
        `load: ${CONNECTIONS} connections for ${SECONDS} s, served ${Math.round(capacity)}/s before; ` +
          `${samples.length} answers: ${good.length} whole, ${refused.length} refused, ` +
          `${samples.length - good.length - refused.length} wrong; p95 ${Math.round(normalMs)} ms before, ` +
          `${Math.round(p95(samples))} ms under load, as before after ${recovered.toFixed(1)} s; ` +
          `memory ${Math.round(before)} MiB before, ${Math.round(peak)} MiB at most\n`,
      );
      expect(
        samples.filter((sample) => !good.includes(sample) && !refused.includes(sample)).slice(0, 5),
      ).toEqual([]);
      expect(good.length).toBeGreaterThan(0);
      expect(recovered).toBeLessThanOrEqual(RECOVERED_WITHIN_S);
      expect(peak - before).toBeLessThan(MOST_GROWTH_MIB);
      expect(api.isRunning).toBe(true);
      for (const connections of [single, few, many]) connections.close();
    },
    90_000 + SECONDS * 1000,
  );
});
