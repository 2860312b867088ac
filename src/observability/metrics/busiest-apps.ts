import type { Sample } from './instruments.js';

const WINDOW_MS = 60_000;
const SHOWN = 20;

/**
 * What each app asked of the process in the last whole minute, for the twenty that asked most: which app is busy can be
 * seen, and the number of series has a bound however many apps there are.
 */
export class BusiestApps {
  private windowEndsAt = Date.now() + WINDOW_MS;
  private counting = new Map<number, number>();
  private counted = new Map<number, number>();

  add(appId: number): void {
    this.turnWindow();
    this.counting.set(appId, (this.counting.get(appId) ?? 0) + 1);
  }

  samples(): Sample[] {
    this.turnWindow();
    return [...this.counted]
      .sort(([, a], [, b]) => b - a)
      .slice(0, SHOWN)
      .map(([appId, value]) => ({ values: [appId], value }));
  }

  private turnWindow(): void {
    const late = Date.now() - this.windowEndsAt;
    if (late < 0) return;
    // Nothing was counted in the last whole minute when the one before has no successor.
    this.counted = late < WINDOW_MS ? this.counting : new Map<number, number>();
    this.counting = new Map();
    this.windowEndsAt = Date.now() + WINDOW_MS - (late % WINDOW_MS);
  }
}
