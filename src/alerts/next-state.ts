import { Temporal } from 'temporal-polyfill';
import type { AlertState, Rule } from '../api/alerts/rule.js';
import { isBeyond } from '../api/alerts/rule.js';
import { findLastDue } from './digest-schedule.js';
import { hashUuid } from '../shared/hash-uuid.js';
import type { StoredRule, StoredState } from './alert-store.js';

/** What a window has; null: nothing to compare. */
export interface Measured {
  readonly value: number;
  /** Whether so few requests say nothing. */
  readonly isTooFew?: boolean;
}

const DAY_MINUTES = 1_440;

/**
 * The state after a window, as a row: one more for a new state, else the row of the old one again.
 *
 * An alert that fires goes on until none of the last windows breaks the rule, so that a value around the
 * limit is not told again and again. Once receivers know that it fires, they learn also that it ended, even
 * if it was muted in between.
 *
 * @param at end of the window, in milliseconds since the epoch
 */
export function findNextState(
  stored: StoredRule,
  rule: Rule,
  appId: number,
  measured: Measured | null,
  before: StoredState | undefined,
  at: number,
): StoredState {
  if (rule.metric === 'weekly') return findNextDigest(stored, rule, appId, before, at);
  const isBroken = measured !== null && !measured.isTooFew && isBeyond(rule, measured.value);
  const results = [...(before?.results ?? []), isBroken ? 1 : 0].slice(-(rule.of ?? rule.for));
  const broken = results.reduce((sum, result) => sum + result, 0);
  const fired = before?.state === 'firing' || before?.state === 'muted';
  const isFiring = broken >= rule.for || (fired && broken > 0);
  const isMuted = isSilenced(stored, rule, at);
  const state = chooseState(isFiring, isMuted, measured !== null, broken);
  const value = measured?.value ?? null;
  if (before?.state === state) return { ...before, value, results, evaluated_at: at };
  // The row of the end of a firing still has its start, for its message.
  const firedAt = before && before.told !== 'resolved' ? before.fired_at : 0;
  const told =
    state === 'firing' && firedAt === 0
      ? 'firing'
      : firedAt !== 0 && state !== 'firing' && state !== 'muted'
        ? 'resolved'
        : 'nothing';
  const key = [stored.team_id, stored.app_id, stored.name, appId, at, state];
  return {
    team_id: stored.team_id,
    rule_app_id: stored.app_id,
    rule: stored.name,
    app_id: appId,
    since: at,
    transition_id: hashUuid(JSON.stringify(key)),
    state,
    value,
    results,
    fired_at: told === 'firing' ? at : firedAt,
    told,
    evaluated_at: at,
  };
}

/**
 * A digest is always `ok`: it begins a row each time that it is due. The first row of an app begins when the
 * rule is first evaluated for it. What is due while nothing may be told, or no process runs, is told later,
 * unless the next one is due before; nothing is due from before the rule had its definition.
 */
function findNextDigest(
  stored: StoredRule,
  rule: Rule,
  appId: number,
  before: StoredState | undefined,
  at: number,
): StoredState {
  const due = findLastDue(rule, at);
  const isDue = before !== undefined && due > Math.max(before.since, stored.defined_at);
  if (before && (!isDue || isSilenced(stored, rule, at))) return { ...before, evaluated_at: at };
  const since = isDue ? due : at;
  const key = [stored.team_id, stored.app_id, stored.name, appId, since, 'digest'];
  return {
    team_id: stored.team_id,
    rule_app_id: stored.app_id,
    rule: stored.name,
    app_id: appId,
    since,
    transition_id: hashUuid(JSON.stringify(key)),
    state: 'ok',
    value: null,
    results: [],
    fired_at: 0,
    told: isDue ? 'digest' : 'nothing',
    evaluated_at: at,
  };
}

function isSilenced(stored: StoredRule, rule: Rule, at: number): boolean {
  return stored.muted_until > at || isQuiet(rule, at);
}

function chooseState(isFiring: boolean, isMuted: boolean, hasData: boolean, broken: number): AlertState {
  if (isFiring) return isMuted ? 'muted' : 'firing';
  if (!hasData) return 'no_data';
  return broken > 0 ? 'pending' : 'ok';
}

function isQuiet({ quiet, timezone }: Rule, at: number): boolean {
  if (quiet === undefined) return false;
  const [from = 0, to = 0] = quiet.split('-').map((text) => {
    const [hours = 0, minutes = 0] = text.split(':').map(Number);
    return hours * 60 + minutes;
  });
  const { hour, minute } = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timezone);
  const span = (to - from + DAY_MINUTES) % DAY_MINUTES;
  return (hour * 60 + minute - from + DAY_MINUTES) % DAY_MINUTES < span;
}
