import { RejectedLineGroups } from './rejected-lines.js';

describe('Rejections', () => {
  it('groups lines by reason, the most frequent first, each with its first numbers', () => {
    const rejections = new RejectedLineGroups();
    rejections.add(1, 'rare');
    for (let number = 2; number <= 9; number++) rejections.add(number, 'common');
    expect(rejections.list()).toEqual([
      { reason: 'common', count: 8, first: [2, 3, 4, 5, 6] },
      { reason: 'rare', count: 1, first: [1] },
    ]);
  });

  it('keeps a bounded number of reasons, and counts all lines', () => {
    const rejections = new RejectedLineGroups();
    for (let number = 1; number <= 3_000; number++) rejections.add(number, `reason ${number}`);
    const groups = rejections.list();
    expect(groups).toHaveLength(1_001);
    expect(groups[0]).toMatchObject({ reason: 'other reasons', count: 2_000 });
    expect(groups.reduce((sum, { count }) => sum + count, 0)).toBe(3_000);
  });
});
