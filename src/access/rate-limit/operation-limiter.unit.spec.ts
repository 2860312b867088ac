import { Telemetry } from '../../telemetry/telemetry.js';
import { MemoryCounter } from './memory.counter.js';
import { OperationLimiter } from './operation-limiter.js';

const LIMITS = { perSecond: 1, perMinute: 3 };
const START = Date.UTC(2026, 10, 20, 12);

describe('OperationLimiter', () => {
  let limiter: OperationLimiter;

  beforeEach(() => {
    jest.useFakeTimers({ now: START });
    limiter = new OperationLimiter(new MemoryCounter(), Telemetry.none);
  });

  afterEach(() => jest.useRealTimers());

  /** The `Retry-After` of a request, `atMs` milliseconds after the start; undefined if it is allowed. */
  async function send(atMs: number, key = 'key'): Promise<unknown> {
    jest.setSystemTime(START + atMs);
    try {
      await limiter.count('traces', key, LIMITS);
      return undefined;
    } catch (error) {
      return (error as { headers: Record<string, string> }).headers['Retry-After'];
    }
  }

  it('allows one request in a second of the clock', async () => {
    expect([await send(0), await send(999), await send(1_000)]).toEqual([undefined, '1', undefined]);
  });

  it('counts requests beyond the limit of a second in no minute', async () => {
    for (let n = 0; n < 20; n++) await send(0);
    expect([await send(1_000), await send(2_000)]).toEqual([undefined, undefined]);
  });

  it('rejects until the window of 60 seconds ends', async () => {
    for (const at of [0, 1_000, 2_000]) expect(await send(at)).toBeUndefined();
    expect(await send(3_000)).toBe('57');
    expect(await send(59_000)).toBe('1');
    expect(await send(60_000)).toBeUndefined();
  });

  it('counts each key by itself', async () => {
    expect([await send(0), await send(0, 'other'), await send(0)]).toEqual([undefined, undefined, '1']);
  });
});
