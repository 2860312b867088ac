/** Milliseconds of one subject, summed up. */
export interface Stats {
  samples: number;
  p50: number;
  p95: number;
  mean: number;
}

export function computeStats(took: readonly number[]): Stats {
  const sorted = [...took].sort((a, b) => a - b);
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  return { samples: sorted.length, p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95), mean };
}

export function median(values: readonly number[]): number {
  return quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  );
}

function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] ?? NaN;
  const above = sorted[Math.ceil(at)] ?? NaN;
  return below + (above - below) * (at - Math.floor(at));
}
