import { BUCKET_SECONDS, type Grain } from '../../queries/calendar/buckets.js';

/** A part of the buckets of one grain. All times are seconds since the epoch at which a bucket begins. */
export type Source =
  | { readonly grain: Grain; readonly from: number; readonly to: number; readonly except: readonly number[] }
  | { readonly grain: Grain; readonly only: readonly number[] };

/**
 * Chooses the sources with the fewest rows for the sums of the periods: the coarsest buckets that no bound
 * splits, and finer ones in place of split ones. A day in Kolkata consists of whole UTC hours and the
 * quarters of the two hours at its ends.
 *
 * @param bounds of consecutive periods, ascending
 * @param grains coarse to fine; the last one must fit all bounds and cuts
 * @param cuts further times that split buckets
 */
export function chooseSources(
  bounds: readonly number[],
  grains: readonly Grain[],
  cuts: readonly number[] = [],
): Source[] {
  const [from = 0, to = 0] = [bounds[0], bounds.at(-1)];
  const sources: Source[] = [];
  let cutBefore: { buckets: readonly number[]; seconds: number } | undefined;
  for (const [index, grain] of grains.entries()) {
    const seconds = BUCKET_SECONDS[grain];
    const findStart = (time: number) => time - (time % seconds);
    const split = [...bounds, ...cuts.filter((time) => time > from && time < to)];
    const cut = [...new Set(split.filter((time) => time % seconds !== 0).map(findStart))];
    if (cutBefore) {
      const { buckets, seconds: coarser } = cutBefore;
      const finer = buckets.flatMap((start) => startsBetween(start, start + coarser, seconds));
      const isWhole = (start: number) => start >= from && start < to && !cut.includes(start);
      sources.push({ grain, only: finer.filter(isWhole) });
    } else {
      // If most buckets are split, a coarser table saves little.
      const isCoarse = index < grains.length - 1 && cut.length * 2 > (to - from) / seconds;
      if (isCoarse) continue;
      sources.push({ grain, from, to, except: cut });
    }
    if (cut.length === 0) break;
    cutBefore = { buckets: cut, seconds };
  }
  return sources;
}

function startsBetween(from: number, to: number, step: number): number[] {
  return Array.from({ length: (to - from) / step }, (_, index) => from + index * step);
}
