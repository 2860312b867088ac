import { getEventListeners } from 'node:events';
import { QueryTimedOut } from './clickhouse.errors.js';
import { unlessAborted, withPatience } from './deadline.js';

const never = () => new Promise<never>(() => undefined);

describe('withPatience', () => {
  it('gives what the work gives', async () => {
    expect(await withPatience(1_000, undefined, () => Promise.resolve(7))).toBe(7);
    await expect(withPatience(1_000, undefined, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('is over in time, and tells the work', async () => {
    let told: AbortSignal | undefined;
    const work = (signal: AbortSignal) => {
      told = signal;
      return never();
    };
    await expect(withPatience(10, undefined, work)).rejects.toThrow(QueryTimedOut);
    expect(told?.reason).toBeInstanceOf(QueryTimedOut);
  });

  it('is over when the caller leaves, with the reason for which it left, and tells the work', async () => {
    const caller = new AbortController();
    let told: AbortSignal | undefined;
    const waiting = withPatience(1_000, caller.signal, (signal) => {
      told = signal;
      return never();
    });
    const reason = new Error('gone');
    caller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(told?.reason).toBe(reason);
  });

  it('does not begin for a caller who left before', async () => {
    const work = jest.fn(never);
    await expect(withPatience(1_000, AbortSignal.abort(new Error('gone')), work)).rejects.toThrow('gone');
    expect(work).not.toHaveBeenCalled();
  });

  it('leaves nothing behind with a caller who asks many times', async () => {
    const caller = new AbortController();
    for (let n = 0; n < 20; n++) {
      await withPatience(1_000, caller.signal, () => Promise.resolve());
      await unlessAborted(caller.signal, Promise.resolve());
    }
    expect(getEventListeners(caller.signal, 'abort')).toHaveLength(0);
  });
});

describe('unlessAborted', () => {
  it.each([
    ['no signal', undefined],
    ['a signal that stays quiet', new AbortController().signal],
  ])('is the work itself with %s', async (_, signal) => {
    expect(await unlessAborted(signal, Promise.resolve(7))).toBe(7);
    await expect(unlessAborted(signal, Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('is over for a signal that aborted before', async () => {
    await expect(unlessAborted(AbortSignal.abort(new Error('gone')), never())).rejects.toThrow('gone');
  });

  it('takes what the work says later', async () => {
    const work = new Promise((_, fail) => {
      setTimeout(fail, 5, new Error('later'));
    });
    await expect(unlessAborted(AbortSignal.abort(new Error('gone')), work)).rejects.toThrow('gone');
    await expect(work).rejects.toThrow('later');
  });
});
