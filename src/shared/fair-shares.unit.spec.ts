import { FairShares, NoRoom } from './fair-shares.js';

/** Parts by name that record who was ended. */
function share(capacity: number, leastShare = 1) {
  const shares = new FairShares(capacity, leastShare);
  const ended: string[] = [];
  const take = (name: string, team: number | undefined, amount = 1, waitedMs = 0) =>
    shares.take({ team, amount, waitedMs: () => waitedMs, end: () => ended.push(name) });
  return { shares, ended, take };
}

const refused = (take: () => unknown) => {
  try {
    take();
    return undefined;
  } catch (error) {
    return (error as NoRoom).because;
  }
};

describe('FairShares', () => {
  it('lets one team have all, and gives another half of it, from those that waited longest', () => {
    const { shares, ended, take } = share(4);
    take('a', 1, 1, 5);
    take('b', 1, 1, 9);
    take('c', 1, 1, 9);
    take('d', 1, 1, 1);
    expect(refused(() => take('e', 1))).toBe('team');
    take('x', 2);
    take('y', 2);
    expect(ended).toEqual(['c', 'b']);
    expect(refused(() => take('z', 2))).toBe('team');
    expect([shares.used, ended]).toEqual([4, ['c', 'b']]);
  });

  it('shares with every team that asks, also with holders of no team', () => {
    const { ended, take } = share(4);
    for (const name of ['a', 'b']) take(name, 1);
    for (const name of ['c', 'd']) take(name, 2);
    take('e', 3);
    take('f', undefined);
    expect(ended).toEqual(['b', 'd']);
    expect(refused(() => take('g', 4))).toBe('others');
  });

  it('takes nothing from a team that has no more than its share', () => {
    const { ended, take } = share(1);
    take('a', 1);
    expect([refused(() => take('b', 2)), ended]).toEqual(['others', []]);
  });

  it('makes as much room as is needed, and admits what is too large only alone', () => {
    const { shares, ended, take } = share(100);
    for (const name of ['a', 'b', 'c', 'd']) take(name, 1, 25);
    take('x', 2, 50);
    expect([ended, shares.used]).toEqual([['d', 'c'], 100]);
    const alone = share(100);
    const giveBack = alone.take('large', 1, 300);
    expect(refused(() => alone.take('more', 1, 1))).toBe('team');
    giveBack();
    alone.take('small', 1, 1);
    expect(refused(() => alone.take('large', 2, 300))).toBe('others');
  });
});
