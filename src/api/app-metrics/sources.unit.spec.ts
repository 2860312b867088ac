import fc from 'fast-check';
import { BUCKET_SECONDS, type Grain } from '../../queries/calendar/buckets.js';
import { periodBounds } from '../../queries/calendar/periods.js';
import { type Source, chooseSources } from './sources.js';

const ALL: Grain[] = ['day', 'hour', '15m', 'minute'];
const seconds = (iso: string) => Date.parse(iso) / 1000;
const bounds = (from: string, to: string, zone: string, interval: 'hour' | 'day' | 'month') =>
  periodBounds(seconds(from), seconds(to), zone, interval);

/** Beginnings of the buckets of a source. */
function listBuckets(source: Source): number[] {
  if ('only' in source) return [...source.only];
  const width = BUCKET_SECONDS[source.grain];
  const first = Math.ceil(source.from / width) * width;
  const count = Math.max(0, Math.ceil((source.to - first) / width));
  return Array.from({ length: count }, (_, index) => first + index * width).filter(
    (metric) => !source.except.includes(metric),
  );
}

describe('chooseSources', () => {
  it.each([
    ['days of UTC', bounds('2026-01-01', '2026-03-01', 'UTC', 'day'), ['day']],
    ['days of a zone of whole hours', bounds('2026-01-01', '2026-03-01', 'Europe/Berlin', 'day'), ['hour']],
    [
      'days of a zone of half hours',
      bounds('2026-01-01', '2026-03-01', 'Asia/Kolkata', 'day'),
      ['hour', '15m'],
    ],
    ['months of that', bounds('2026-01-01', '2026-12-01', 'Asia/Kolkata', 'month'), ['day', 'hour', '15m']],
    ['hours of that', bounds('2026-01-01', '2026-01-03', 'Asia/Kolkata', 'hour'), ['15m']],
    ['hours of UTC', bounds('2026-01-01', '2026-01-03', 'UTC', 'hour'), ['hour']],
    ['a window of weeks to the minute', [seconds('2026-01-01T10:07Z'), seconds('2026-01-20T11:01Z')], ALL],
    ['a window within an hour', [seconds('2026-01-01T10:07Z'), seconds('2026-01-01T10:10Z')], ['minute']],
  ] as [string, number[], Grain[]][])('reads %s from few tables', (_, periods, expected) => {
    expect(chooseSources(periods, ALL).map(({ grain }) => grain)).toEqual(expected);
  });

  it('covers every second of the window once, and no bucket across a bound', () => {
    const start = seconds('2026-01-01');
    const windows = fc.uniqueArray(fc.integer({ min: 0, max: 4 * 24 * 60 }), { minLength: 2, maxLength: 12 });
    fc.assert(
      fc.property(
        windows,
        fc.constantFrom(ALL, ['15m_by_consumer', 'minute'] as Grain[]),
        (minutes, grains) => {
          const periods = minutes.sort((a, b) => a - b).map((minute) => start + minute * 60);
          const covered: number[] = [];
          const crossed: number[] = [];
          for (const source of chooseSources(periods, grains))
            for (const bucket of listBuckets(source)) {
              const end = bucket + BUCKET_SECONDS[source.grain];
              crossed.push(...periods.filter((bound) => bound > bucket && bound < end));
              for (let minute = bucket; minute < end; minute += 60) covered.push(minute);
            }
          const [from, to] = [periods[0]!, periods.at(-1)!];
          const whole = Array.from({ length: (to - from) / 60 }, (_, index) => from + index * 60);
          expect(covered.sort((a, b) => a - b)).toEqual(whole);
          expect(crossed).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });
});
