import fc from 'fast-check';
import { findBin } from '../../records/bins.js';
import { aggregateCounts } from './aggregate.js';
import { requestsBetween } from './generator.js';
import { SLOT_MS } from './traffic-curve.js';

const ORIGIN = Date.UTC(2025, 3, 1);

describe('aggregateCounts', () => {
  it('keeps every request, every byte and every time, in its slot, and has no name twice in one minute', () => {
    const window = fc.tuple(fc.nat({ max: 30_000 }), fc.integer({ min: 1, max: 40 }));
    fc.assert(
      fc.property(window, ([first, slots]) => {
        const from = ORIGIN + first * SLOT_MS;
        const requests = [...requestsBetween(from, from + slots * SLOT_MS, ORIGIN)];
        const sums = aggregateCounts(requests);
        for (let slot = from; slot < from + slots * SLOT_MS; slot += SLOT_MS) {
          const slotRequests = requests.filter(
            ({ timestamp }) => timestamp >= slot && timestamp < slot + SLOT_MS,
          );
          const added = sums.filter(({ timestamp }) => timestamp >= slot && timestamp < slot + SLOT_MS);
          expect(total(added.map((sum) => sum.requests))).toBe(slotRequests.length);
          expect(total(added.map((sum) => sum.bytes_sent))).toBe(
            total(slotRequests.map((request) => request.response_size_bytes ?? 0)),
          );
          expect(total(added.map((sum) => sum.bytes_received))).toBe(
            total(slotRequests.map((request) => request.request_size_bytes ?? 0)),
          );
          const times = slotRequests.map((request) => findBin(request.response_time_ms / 1000));
          const bins = added.flatMap((sum) => sum.bins).filter(([measure]) => measure === 'time');
          expect(bins.flatMap(([, k, n]) => Array<number>(n).fill(k)).sort()).toEqual(times.sort());
        }
        const names = sums.map(({ timestamp, env, method, path, status_code, consumer }) =>
          JSON.stringify([timestamp, env, method, path, status_code, consumer?.identifier]),
        );
        expect(new Set(names).size).toBe(sums.length);
      }),
      { numRuns: 20 },
    );
  });
});

function total(numbers: number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
