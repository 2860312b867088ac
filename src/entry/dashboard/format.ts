const NUMBER = new Intl.NumberFormat('en');
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const NONE = '–';

export function formatNumber(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : NUMBER.format(value);
}

/** At most five characters: 1,284 or 12.8K. */
export function formatCompact(value: number): string {
  return Math.abs(value) < 10_000 ? NUMBER.format(value) : COMPACT.format(value);
}

/** @param share such as 0.125; negative for a decrease */
export function formatShare(share: number | null | undefined): string {
  if (share === null || share === undefined) return NONE;
  const percent = share * 100;
  const size = Math.abs(percent);
  return `${percent.toFixed(size === 0 || size >= 99.95 ? 0 : size < 0.1 ? 2 : 1)} %`;
}

export function formatMs(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return NONE;
  if (ms < 1000) return `${ms < 10 && !Number.isInteger(ms) ? ms.toFixed(1) : Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(2)} s` : `${(ms / 60_000).toFixed(1)} min`;
}

export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return NONE;
  // Rounded before the unit is chosen: 999,999 bytes are 1.00 MB.
  const rounded = Number(bytes.toPrecision(3));
  const unit = Math.floor(Math.log10(Math.max(rounded, 1)) / 3);
  const value = rounded / 1000 ** unit;
  return `${unit === 0 ? value : value.toPrecision(3)} ${['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'][unit] ?? ''}`;
}

/** A time relative to the start of a request. */
export function formatOffset(ms: number): string {
  return `${ms < 0 ? '−' : '+'}${formatMs(Math.abs(ms))}`;
}
