import { RULE, type RuleInput } from '../api/alerts/rule.js';
import { MINUTE_MS } from '../shared/time/units.js';
import type { StoredRule, StoredState } from './alert-store.js';
import { findNextState } from './next-state.js';

const START = Date.UTC(2026, 10, 27, 12);

const STORED: StoredRule = {
  team_id: 1,
  app_id: 1,
  name: 'errors',
  source: 'command',
  definition: '',
  channels: '[]',
  muted_until: 0,
  defined_at: 0,
  deleted: false,
};

/** The states after each value, a minute apart; null: no data. A text is `state`, or `state/told`. */
function run(
  input: Partial<RuleInput>,
  values: readonly (number | null)[],
  mutedUntil: (minute: number) => number = () => 0,
): string[] {
  const rule = RULE.parse({ metric: 'error_rate', value: 0.5, ...input });
  let state: StoredState | undefined;
  return values.map((value, minute) => {
    const stored = { ...STORED, muted_until: mutedUntil(minute) };
    const at = START + minute * MINUTE_MS;
    const before = state;
    state = findNextState(stored, rule, 1, value === null ? null : { value }, before, at);
    const isNew = state.transition_id !== before?.transition_id;
    return isNew && state.told !== 'nothing' ? `${state.state}/${state.told}` : state.state;
  });
}

describe('findNextState', () => {
  it('fires once, and resolves once', () => {
    expect(run({}, [0, 1, 1, 0, 0, 1])).toEqual([
      'ok',
      'firing/firing',
      'firing',
      'ok/resolved',
      'ok',
      'firing/firing',
    ]);
  });

  it('fires if n of the last m windows break the rule, and ends when none of them does', () => {
    expect(run({ for: 2, of: 3 }, [1, 0, 1, 0, 0, 0, 1])).toEqual([
      'pending',
      'pending',
      'firing/firing',
      'firing',
      'firing',
      'ok/resolved',
      'pending',
    ]);
  });

  it('tells no data from a value', () => {
    expect(run({}, [null, 1, null, 0])).toEqual(['no_data', 'firing/firing', 'no_data/resolved', 'ok']);
  });

  it('tells nothing while it is muted, but the end of what was told', () => {
    const until = (minute: number) => (minute >= 1 && minute < 4 ? START + 4 * MINUTE_MS : 0);
    expect(run({}, [1, 1, 1, 0, 1], until)).toEqual([
      'firing/firing',
      'muted',
      'muted',
      'ok/resolved',
      'firing/firing',
    ]);
    expect(run({}, [0, 1, 1, 1, 1], until)).toEqual(['ok', 'muted', 'muted', 'muted', 'firing/firing']);
    expect(run({}, [1, 1, 1, 1, 1], until)).toEqual(['firing/firing', 'muted', 'muted', 'muted', 'firing']);
    expect(run({}, [0, 1, 0, 0, 0], until)).toEqual(['ok', 'muted', 'ok', 'ok', 'ok']);
  });

  it('is muted in quiet hours of its timezone, also across midnight', () => {
    const quiet = { quiet: '22:00-06:00', timezone: 'Pacific/Auckland' };
    // 12:00 UTC is 01:00 there.
    expect(run(quiet, [1])).toEqual(['muted']);
    expect(run({ quiet: '06:00-22:00', timezone: 'Pacific/Auckland' }, [1])).toEqual(['firing/firing']);
    expect(run({ quiet: '12:00-12:01' }, [1, 1])).toEqual(['muted', 'firing/firing']);
  });

  it('breaks a rule of silence by as many minutes as its window', () => {
    expect(run({ metric: 'silence', window: '15m' }, [14.9, 15, 0])).toEqual([
      'ok',
      'firing/firing',
      'ok/resolved',
    ]);
  });

  it('keeps the ID of a transition that is evaluated again', () => {
    const rule = RULE.parse({ metric: 'error_rate' });
    const [first, second] = [1, 2].map(() => findNextState(STORED, rule, 1, { value: 1 }, undefined, START));
    expect(first).toEqual(second);
  });
});
