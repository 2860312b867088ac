import type { MetricSample } from './instruments.js';

const WINDOW_MS = 60_000;
const SHOWN = 20;

/**
 * Requests per app in the last whole minute, for the twenty busiest apps, so that the number of series is
 * bounded for any number of apps.
 */
export class BusiestApps {
  private windowEndsAt = Date.now() + WINDOW_MS;
  private counting = new Map<number, number>();
  private counted = new Map<number, number>();

  add(appId: number): void {
    this.turnWindow();
    this.counting.set(appId, (this.counting.get(appId) ?? 0) + 1);
  }

  samples(): MetricSample[] {
    this.turnWindow();
    return [...this.counted]
      .sort(([, a], [, b]) => b - a)
      .slice(0, SHOWN)
      .map(([appId, value]) => ({ values: [appId], value }));
  }

  private turnWindow(): void {
    const late = Date.now() - this.windowEndsAt;
    if (late < 0) return;
    // Without a later minute, nothing was counted in the last whole minute.
    this.counted = late < WINDOW_MS ? this.counting : new Map<number, number>();
    this.counting = new Map();
    this.windowEndsAt = Date.now() + WINDOW_MS - (late % WINDOW_MS);
  }
}
