import type { Parameters } from '../../store/client/query-parameters.js';

/**
 * The tables of counts, by the width of their buckets, which begin at multiples of it since the epoch.
 */
export type Grain = 'day' | 'hour' | '15m' | '15m_by_consumer' | 'minute';

/** Widths of the buckets. */
export const BUCKET_SECONDS: Readonly<Record<Grain, number>> = {
  day: 86_400,
  hour: 3_600,
  '15m': 900,
  '15m_by_consumer': 900,
  minute: 60,
};

/**
 * If more periods have another length than the rest, as with months, a search in their bounds is cheaper. The
 * offset of a zone changes at most four times in thirteen months.
 */
const MAX_ODD_PERIODS = 4;

/**
 * The coarsest, and therefore cheapest, buckets that no period of the window splits: UTC days, otherwise UTC
 * hours, otherwise quarter-hours, which fit every zone's current offset. The result is one of three
 * constants, so it is safe in the text of a query.
 *
 * The bounds decide, not the zone's offsets: a window that begins in Lord Howe's spring may have only
 * whole-hour offsets and still begin on a half-hour.
 *
 * @param bounds of the periods, as `periodBounds` gives them
 */
export function chooseGrain(bounds: readonly number[]) {
  const coarse = ['day', 'hour'] as const;
  return coarse.find((grain) => bounds.every((bound) => bound % BUCKET_SECONDS[grain] === 0)) ?? '15m';
}

/** Expressions for the period of a bucket, and values of their placeholders. */
export interface PeriodSql {
  /** Groups buckets by period. The engine computes it for each row. Its alias is `period`. */
  readonly key: string;
  /** The start of a period by its key, a DateTime of UTC. */
  readonly start: string;
  /** The end of a period by its key, a DateTime of UTC. */
  readonly end: string;
  readonly params: Parameters;
}

/**
 * The period of a bucket by the cheapest exact way: a constant for a single period, identity if each bucket
 * is a period, division if all periods but a few have equal length (a few days differ because of daylight
 * saving), otherwise a search in their bounds, which takes a third of a long query.
 *
 * @param bucket the column of buckets, which are all within the periods
 * @param bounds of consecutive periods, seconds since the epoch
 * @param grains of the buckets
 * @param boundsSql an expression for the bounds, which are a parameter of that name
 */
export function describePeriods(
  bucket: string,
  bounds: readonly number[],
  grains: readonly Grain[],
  boundsSql = '{bounds:Array(UInt32)}',
): PeriodSql {
  const [from = 0] = bounds;
  const periods = bounds.slice(1).map((periodEnd, index) => {
    const start = bounds[index] ?? from;
    return { start, seconds: periodEnd - start };
  });
  const width = periods.map(({ seconds }) => seconds).toSorted((a, b) => a - b)[periods.length >> 1] ?? 0;
  const time = `toUnixTimestamp(${bucket})`;
  const toTime = (epochSeconds: string) => `toDateTime(${epochSeconds}, 'UTC')`;
  if (periods.length <= 1)
    return {
      key: '{from:UInt32}',
      start: toTime('period'),
      end: toTime('toUInt32(period + {width:UInt32})'),
      params: { from, width },
    };

  const odd = periods.filter(({ seconds }) => seconds !== width);
  if (odd.length > MAX_ODD_PERIODS || odd.some(({ seconds }) => seconds > 2 * width))
    return {
      key: `roundDown(${time}, ${boundsSql})`,
      start: toTime('period'),
      end: toTime(`transform(period, arrayPopBack(${boundsSql}), arrayPopFront(${boundsSql}), toUInt32(0))`),
      params: { bounds },
    };
  if (odd.length === 0) {
    if (grains.every((grain) => BUCKET_SECONDS[grain] === width))
      return { key: bucket, start: 'period', end: 'period + {width:UInt32}', params: { width } };
    return {
      key: `intDiv(toUInt32(${time} - {from:UInt32}), {width:UInt32})`,
      start: toTime('toUInt32({from:UInt32} + period * {width:UInt32})'),
      end: toTime('toUInt32({from:UInt32} + (period + 1) * {width:UInt32})'),
      params: { from, width },
    };
  }
  // Divides as if the odd periods had the length of the others: times after a change of length are shifted by
  // the difference.
  const shifts = odd.map((_, index) => ` + {shift_${index}:Int32} * (${time} >= {shifted_${index}:UInt32})`);
  const values = odd.flatMap(({ start, seconds }, index) => [
    [`shift_${index}`, width - seconds],
    [`shifted_${index}`, start + Math.min(seconds, width)],
  ]);
  return {
    key: `intDiv(toUInt32(${time} - {from:UInt32}${shifts.join('')}), {width:UInt32})`,
    start: toTime(`${boundsSql}[period + 1]`),
    end: toTime(`${boundsSql}[period + 2]`),
    params: { from, width, bounds, ...(Object.fromEntries(values) as Parameters) },
  };
}
