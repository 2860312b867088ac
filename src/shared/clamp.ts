/** The value of a range that is nearest to `value`. */
export function clamp(value: number, from: number, to: number): number {
  return Math.min(Math.max(value, from), to);
}
