import { runEvery } from './run-every.js';

describe('runEvery', () => {
  it('does not start a task again while it runs, and starts it again after', async () => {
    jest.useFakeTimers();
    const ends: (() => void)[] = [];
    const timer = runEvery(1_000, () => new Promise((resolve) => ends.push(resolve)));
    await jest.advanceTimersByTimeAsync(3_000);
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(ends).toHaveLength(2);
    clearInterval(timer);
    jest.useRealTimers();
  });
});
