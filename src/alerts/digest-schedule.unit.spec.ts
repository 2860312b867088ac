import { RULE, type RuleInput } from '../api/alerts/rule.js';
import { findLastDue, findWeeks } from './digest-schedule.js';

const rule = (input: Partial<RuleInput> = {}) => RULE.parse({ metric: 'weekly', ...input });
const findDue = (at: string, input?: Partial<RuleInput>) =>
  new Date(findLastDue(rule(input), Date.parse(at))).toISOString();
const listWeeks = (due: string, input?: Partial<RuleInput>) => {
  const { window, baseline } = findWeeks(rule(input), Date.parse(due));
  return [baseline.start, baseline.end, window.start, window.end].map((at) => new Date(at).toISOString());
};

describe('a digest is due', () => {
  it.each([
    ['2026-11-23T09:00:00Z', '2026-11-23T09:00:00.000Z'],
    ['2026-11-23T08:59:59Z', '2026-11-16T09:00:00.000Z'],
    ['2026-11-29T23:59:00Z', '2026-11-23T09:00:00.000Z'],
  ])('at %s last: %s', (at, due) => {
    expect(findDue(at)).toBe(due);
  });

  it('on another day, at the time of the timezone, also where clocks change', () => {
    const friday = { day: 'friday', at: '17:30', timezone: 'America/New_York' } as const;
    expect(findDue('2026-11-27T22:30:00Z', friday)).toBe('2026-11-27T22:30:00.000Z');
    expect(findDue('2026-11-27T22:29:00Z', friday)).toBe('2026-11-20T22:30:00.000Z');
    expect(findDue('2026-10-31T12:00:00Z', friday)).toBe('2026-10-30T21:30:00.000Z');
    // Clocks go from 02:00 to 03:00.
    const night = { day: 'sunday', at: '02:30', timezone: 'Europe/Berlin' } as const;
    expect(findDue('2026-03-29T12:00:00Z', night)).toBe('2026-03-29T01:30:00.000Z');
    expect(findDue('2026-04-04T12:00:00Z', night)).toBe('2026-03-29T01:30:00.000Z');
    expect(findDue('2026-03-29T01:29:00Z', night)).toBe('2026-03-22T01:30:00.000Z');
  });
});

describe('a digest compares', () => {
  it('the seven days before its day with those before them', () => {
    expect(listWeeks('2026-11-23T09:00:00Z')).toEqual(
      ['2026-11-09', '2026-11-16', '2026-11-16', '2026-11-23'].map((day) => `${day}T00:00:00.000Z`),
    );
  });

  it('days of its timezone, of which one may have 25 hours', () => {
    expect(listWeeks('2026-10-26T08:00:00Z', { timezone: 'Europe/Berlin' })).toEqual([
      '2026-10-11T22:00:00.000Z',
      '2026-10-18T22:00:00.000Z',
      '2026-10-18T22:00:00.000Z',
      '2026-10-25T23:00:00.000Z',
    ]);
  });
});
