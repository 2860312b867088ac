import { MINUTE_MS } from '../../shared/time/units.js';
import { BusiestApps } from './busiest-apps.js';

describe('BusiestApps', () => {
  let apps: BusiestApps;

  beforeEach(() => {
    jest.useFakeTimers({ now: 0 });
    apps = new BusiestApps();
  });
  afterEach(() => jest.useRealTimers());

  const count = (appId: number, times: number) => {
    for (let n = 0; n < times; n += 1) apps.add(appId);
  };

  it('shows the twenty busiest of the last whole minute, busiest first', () => {
    for (let appId = 1; appId <= 30; appId += 1) count(appId, appId);
    expect(apps.samples()).toEqual([]);
    jest.setSystemTime(MINUTE_MS);
    const expected = Array.from({ length: 20 }, (_, n) => ({ values: [30 - n], value: 30 - n }));
    expect(apps.samples()).toEqual(expected);
    count(99, 1);
    expect(apps.samples()).toEqual(expected);
  });

  it('shows nothing when the last whole minute had nothing', () => {
    count(1, 1);
    jest.setSystemTime(2 * MINUTE_MS);
    expect(apps.samples()).toEqual([]);
    count(2, 3);
    jest.setSystemTime(3 * MINUTE_MS + 1);
    expect(apps.samples()).toEqual([{ values: [2], value: 3 }]);
  });
});
