import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import { z } from 'zod';
import { CHANNELS, type Channel, RULE, describeIssues } from '../api/alerts/rule.js';
import { ConfigError } from '../config/config.js';
import type { StoredRule } from './alert-store.js';

const MAX_RULES = 1_000;
const MAX_TARGET = 4_096;

/** A name of a rule, unique among the rules of its app. */
export const RULE_NAME = z.string().trim().min(1).max(100);

/** A receiver; `@path` names a file that has it, because the URL of a webhook may be a secret. */
const TARGET = z
  .string()
  .min(1)
  .max(MAX_TARGET)
  .transform((text, context) => {
    if (!text.startsWith('@')) return text;
    try {
      return readFileSync(text.slice(1), 'utf8').trim();
    } catch {
      context.addIssue('names a file that cannot be read');
      return z.NEVER;
    }
  });
const URL_TARGET = TARGET.refine(
  (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
  'must be a URL that begins with https:// or http://',
);
const MAIL_TARGET = TARGET.refine(
  (text) => /^[^\s@,;<>]+@[^\s@,;<>]+$/.test(text),
  'must be an address of e-mail',
);
const listOf = (target: typeof URL_TARGET) =>
  z
    .preprocess((value): unknown => (Array.isArray(value) ? value : [value]), z.array(target).max(10))
    .default([]);

/** The receivers of a rule. */
export const RECEIVERS = z
  .strictObject({
    webhook: listOf(URL_TARGET),
    slack: listOf(URL_TARGET),
    teams: listOf(URL_TARGET),
    email: listOf(MAIL_TARGET),
  })
  .transform((receivers): Channel[] =>
    CHANNELS.flatMap((kind) => receivers[kind].map((target) => ({ kind, target }))),
  );

/** A rule of the file has all members in one object. */
const ENTRY = z.preprocess(
  (entry) => {
    if (typeof entry !== 'object' || entry === null) return entry;
    const members = Object.entries(entry);
    const isReceiver = (name: string) => CHANNELS.some((kind) => kind === name);
    const isPlace = (name: string) => ['team', 'app', 'name'].includes(name);
    return {
      ...Object.fromEntries(members.filter(([name]) => isPlace(name))),
      rule: Object.fromEntries(members.filter(([name]) => !isPlace(name) && !isReceiver(name))),
      receivers: Object.fromEntries(members.filter(([name]) => isReceiver(name))),
    };
  },
  z
    .strictObject({
      team: z.int().min(1).optional(),
      app: z.union([z.int().min(1), z.literal('all')]),
      name: RULE_NAME,
      rule: RULE,
      receivers: RECEIVERS,
    })
    .refine(({ team, app }) => app !== 'all' || team !== undefined, {
      path: ['team'],
      message: 'must be given with app: all',
    }),
);

const FILE = z.strictObject({ rules: z.array(ENTRY).max(MAX_RULES) });

/** A rule of the file; `team` is missing if the app says it. */
export type FileRule = z.output<typeof ENTRY>;

/** @throws ConfigError that names the rule and the member; it repeats no value. */
export function readRulesFile(path: string): FileRule[] {
  let document: unknown;
  try {
    document = load(readFileSync(path, 'utf8'));
  } catch (error) {
    const { reason, code } = error as { reason?: string; code?: string };
    throw new ConfigError(`ALERTS_FILE: cannot be read: ${reason ?? code ?? 'no YAML'}`);
  }
  const { data, error } = FILE.safeParse(document);
  if (!data) throw new ConfigError(`ALERTS_FILE: ${describeIssues(error)}`);
  const keys = data.rules.map(({ team, app, name }) => JSON.stringify([team ?? null, app, name]));
  const repeated = keys.findIndex((key, index) => keys.indexOf(key) !== index);
  if (repeated >= 0)
    throw new ConfigError(`ALERTS_FILE: rules[${repeated}]: there are two rules of this name`);
  return data.rules;
}

/** @param before the stored rule of the same name */
export function toStored(
  teamId: number,
  { app, name, rule, receivers }: Pick<FileRule, 'app' | 'name' | 'rule' | 'receivers'>,
  source: StoredRule['source'],
  before?: StoredRule,
): StoredRule {
  const definition = JSON.stringify(rule);
  const isSame = before && !before.deleted && before.definition === definition;
  return {
    team_id: teamId,
    app_id: app === 'all' ? 0 : app,
    name,
    source,
    definition,
    channels: JSON.stringify(receivers),
    muted_until: before?.muted_until ?? 0,
    defined_at: isSame ? before.defined_at : Date.now(),
    deleted: false,
  };
}
