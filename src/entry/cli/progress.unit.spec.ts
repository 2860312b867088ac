import { Progress } from './progress.js';

const TOTAL = 100_000_000;
/** Bytes a second on the average. */
const RATE = 2_000_000;
const CHUNK = 64 * 1024;
const STEP_MS = 100;
/** Lines are read while a batch is written, and then their reader waits for it. */
const BURST_MS = 3_000;
const LEFT = / (?:(\d+)m)?(\d+)s left/;

describe('the progress on a terminal', () => {
  let isTTY: PropertyDescriptor | undefined;

  beforeEach(() => {
    isTTY = Object.getOwnPropertyDescriptor(process.stderr, 'isTTY');
    Object.defineProperty(process.stderr, 'isTTY', { value: true, configurable: true });
    jest.useFakeTimers();
  });

  afterEach(() => {
    jest.useRealTimers();
    if (isTTY) Object.defineProperty(process.stderr, 'isTTY', isTTY);
    else Reflect.deleteProperty(process.stderr, 'isTTY');
  });

  it('has an estimate of the time left that does not jump, though bytes are read in bursts', () => {
    let shown = '';
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
      shown += String(text);
      return true;
    });
    const progress = new Progress(TOTAL);
    const errors: number[] = [];
    let position = 0;
    for (let at = STEP_MS; position < TOTAL; at += STEP_MS) {
      const due = Math.floor(at / BURST_MS) * BURST_MS * (RATE / 1_000);
      while (position < Math.min(due, TOTAL)) {
        position = Math.min(position + CHUNK, TOTAL);
        progress.update(position, position);
      }
      jest.advanceTimersByTime(STEP_MS);
      const [, minutes = '0', seconds] = LEFT.exec(shown.slice(shown.lastIndexOf('|') - 40)) ?? [];
      if (seconds === undefined || at < 4 * BURST_MS) continue;
      const remaining = TOTAL / RATE - at / 1_000;
      errors.push(Math.abs(Number(minutes) * 60 + Number(seconds) - remaining));
    }
    progress.update(TOTAL, TOTAL);
    progress.stop();
    expect(errors.length).toBeGreaterThan(300);
    // A burst and the rounding of what is shown.
    expect(Math.max(...errors)).toBeLessThan(10);
    expect(shown.slice(shown.lastIndexOf('%') - 4)).toContain('100% | 100000000 lines');
  });

  it('has a time left without 60 seconds behind the minutes or 60 minutes behind the hours', () => {
    const shown = new Set<string>();
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
      const [, remaining] = / (\S+) left/.exec(String(text)) ?? [];
      if (remaining !== undefined) shown.add(remaining);
      return true;
    });
    const total = 8_000;
    const progress = new Progress(total);
    for (let position = 0; position < total; position += 10) {
      progress.update(position, position);
      jest.advanceTimersByTime(10_000);
    }
    progress.stop();
    for (const remaining of ['2h0m', '1h5m', '2m0s', '1m50s', '10s']) expect(shown).toContain(remaining);
    expect([...shown].filter((remaining) => /[hm]60|\./.test(remaining))).toEqual([]);
  });
});
