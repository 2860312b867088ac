import { getEventListeners } from 'node:events';
import { raceAbort } from './race-abort.js';

const never = () => new Promise<never>(() => undefined);

describe('raceAbort', () => {
  it.each([
    ['no signal', undefined],
    ['a signal that stays quiet', new AbortController().signal],
  ])('is the work itself with %s', async (_, signal) => {
    expect(await raceAbort(signal, Promise.resolve(7))).toBe(7);
    await expect(raceAbort(signal, Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('is over for a signal that aborted before', async () => {
    await expect(raceAbort(AbortSignal.abort(new Error('gone')), never())).rejects.toThrow('gone');
  });

  it('takes what the work says later', async () => {
    const work = new Promise((_, fail) => {
      setTimeout(fail, 5, new Error('later'));
    });
    await expect(raceAbort(AbortSignal.abort(new Error('gone')), work)).rejects.toThrow('gone');
    await expect(work).rejects.toThrow('later');
  });

  it('leaves nothing behind with a signal that races many times', async () => {
    const { signal } = new AbortController();
    for (let n = 0; n < 20; n++) await raceAbort(signal, Promise.resolve());
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});
