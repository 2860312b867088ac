import { createHash } from 'node:crypto';
import type { Channel, Rule } from '../api/alerts/rule.js';
import { describeRule } from '../api/alerts/rule.js';
import { truncate } from '../records/text.js';
import { hashUuid } from '../shared/hash-uuid.js';
import type { StoredMessage, StoredRule, StoredState } from './alert-store.js';

/** An alert in a message, as Alertmanager names its members. Never changed once the message is stored. */
interface ToldAlert {
  readonly status: 'firing' | 'resolved';
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAt: string;
  /** The year 1 while it fires, as in Alertmanager. */
  readonly endsAt: string;
  /** The dashboard at the window. */
  readonly generatorURL: string;
  /** The same for all transitions of an alert. */
  readonly fingerprint: string;
}

/** Alerts of a message; it says how many more there are. */
const MAX_ALERTS = 100;
const MAX_TEXT = 200;
const MINUTE_MS = 60_000;
const NO_END = '0001-01-01T00:00:00Z';
/** Control characters, and characters that change the direction of a text or are not shown. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A transition with its rule, and the name of its app. */
export interface Transition {
  readonly state: StoredState;
  readonly rule: Rule;
  readonly channels: readonly Channel[];
  readonly appName: string;
}

/**
 * One message for each receiver of a team with all transitions that it is told of. Its ID depends on them
 * alone.
 */
export function composeMessages(
  transitions: readonly Transition[],
  dashboardUrl: string,
  now: number,
): StoredMessage[] {
  const groups = new Map<string, { teamId: number; channel: Channel; transitions: Transition[] }>();
  for (const transition of transitions)
    for (const channel of transition.channels) {
      const teamId = transition.state.team_id;
      const key = JSON.stringify([teamId, channel.kind, channel.target]);
      const group = groups.get(key) ?? { teamId, channel, transitions: [] };
      group.transitions.push(transition);
      groups.set(key, group);
    }
  return Array.from(groups, ([key, { teamId, channel, transitions: all }]) => {
    const ids = all.map(({ state }) => state.transition_id);
    return {
      team_id: teamId,
      message_id: hashUuid(JSON.stringify([key, ids])),
      created_at: now,
      channel: channel.kind,
      target: channel.target,
      transitions: ids,
      alerts: JSON.stringify(all.map((transition) => toAlert(transition, dashboardUrl))),
      attempts: 0,
      state: 'waiting',
      next_at: now,
      error: '',
    };
  });
}

/** A message that says nothing but that a receiver is reachable. */
export function composeTest(
  { team_id, app_id, name }: Pick<StoredRule, 'team_id' | 'app_id' | 'name'>,
  rule: Rule,
  channel: Channel,
  dashboardUrl: string,
  now: number,
): StoredMessage {
  const state: StoredState = {
    team_id,
    rule_app_id: app_id,
    rule: name,
    app_id,
    since: now,
    transition_id: hashUuid(`test ${now}`),
    state: 'firing',
    value: null,
    results: [],
    fired_at: now,
    told: 'firing',
    evaluated_at: now,
  };
  const transition = { state, rule, channels: [channel], appName: 'this is a test' };
  const [message] = composeMessages([transition], dashboardUrl, now);
  if (!message) throw new Error('a channel gets one message');
  return message;
}

function toAlert({ state, rule, appName }: Transition, dashboardUrl: string): ToldAlert {
  const { rule: name, app_id, team_id, since, fired_at, told, value, evaluated_at } = state;
  const labels = {
    alertname: toText(name),
    severity: rule.severity,
    team_id: String(team_id),
    app_id: String(app_id),
    app: toText(appName),
    ...(rule.env !== undefined && { env: toText(rule.env) }),
  };
  const condition = toText(describeRule(rule));
  const measured = value === null ? '' : `, value ${formatValue(value)}`;
  const ended = told === 'resolved';
  const from = fired_at - rule.window * MINUTE_MS;
  return {
    status: ended ? 'resolved' : 'firing',
    labels,
    annotations: {
      summary: `${toText(name)} of ${toText(appName)}: ${condition}${measured}`,
      condition,
      ...(value !== null && { value: formatValue(value) }),
      transition_id: state.transition_id,
    },
    startsAt: new Date(fired_at).toISOString(),
    endsAt: ended ? new Date(since).toISOString() : NO_END,
    generatorURL: linkTo(dashboardUrl, app_id, from, evaluated_at, rule.env),
    fingerprint: createHash('sha256').update(JSON.stringify(labels)).digest('hex').slice(0, 16),
  };
}

function linkTo(dashboardUrl: string, appId: number, from: number, to: number, env?: string): string {
  const query = new URLSearchParams({
    app: String(appId),
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    ...(env !== undefined && { env }),
  });
  return `${dashboardUrl.replace(/\/$/, '')}/?${query.toString()}`;
}

/** Names come from monitored applications: a line of visible characters. */
function toText(text: string): string {
  return truncate(text.toWellFormed().replaceAll(INVISIBLE, ' '), MAX_TEXT);
}

function formatValue(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** The request of a message to a URL. */
export function writeBody({ channel, team_id, alerts }: StoredMessage, externalUrl: string): string {
  const all = JSON.parse(alerts) as ToldAlert[];
  const shown = all.slice(0, MAX_ALERTS);
  if (channel === 'slack')
    return JSON.stringify({ text: writeLines(all, escapeSlack).join('\n'), mrkdwn: false });
  if (channel === 'teams') return JSON.stringify(writeCard(all));
  return JSON.stringify({
    version: '4',
    groupKey: `{}:{team_id="${team_id}"}`,
    truncatedAlerts: all.length - shown.length,
    status: all.some(({ status }) => status === 'firing') ? 'firing' : 'resolved',
    receiver: 'request-analytics',
    groupLabels: { team_id: String(team_id) },
    commonLabels: findCommon(shown.map(({ labels }) => labels)),
    commonAnnotations: findCommon(shown.map(({ annotations }) => annotations)),
    externalURL: externalUrl,
    alerts: shown,
  });
}

/** The parts of an e-mail, which is plain text. */
export function writeMail({ alerts }: StoredMessage): { subject: string; text: string } {
  const all = JSON.parse(alerts) as ToldAlert[];
  const [first] = all;
  const firing = all.filter(({ status }) => status === 'firing').length;
  const subject =
    all.length === 1 && first
      ? `[${first.status.toUpperCase()}] ${first.labels.alertname ?? ''} (${first.labels.app ?? ''})`
      : `${firing} firing, ${all.length - firing} resolved`;
  return { subject, text: `${writeLines(all, (text) => text).join('\n')}\n` };
}

function writeLines(alerts: readonly ToldAlert[], escape: (text: string) => string): string[] {
  const lines = alerts
    .slice(0, MAX_ALERTS)
    .map(
      ({ status, labels, annotations, generatorURL }) =>
        `[${status.toUpperCase()}] ${escape(`${annotations.summary ?? ''} (${labels.severity ?? ''})`)} ${escape(generatorURL)}`,
    );
  const more = alerts.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more`] : lines;
}

/** Slack's own escapes, so that no name becomes a link; and no name calls a channel or a person. */
function escapeSlack(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('@', '@\u200b');
}

/** Runs of text, unlike blocks of text, are not Markdown. */
function writeCard(alerts: readonly ToldAlert[]) {
  const [first] = alerts;
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: writeLines(alerts, (text) => text).map((text) => ({
            type: 'RichTextBlock',
            inlines: [{ type: 'TextRun', text }],
          })),
          actions: first ? [{ type: 'Action.OpenUrl', title: 'Open', url: first.generatorURL }] : [],
        },
      },
    ],
  };
}

function findCommon(all: readonly Readonly<Record<string, string>>[]): Record<string, string> {
  const [first = {}, ...others] = all;
  return Object.fromEntries(
    Object.entries(first).filter(([name, value]) => others.every((other) => other[name] === value)),
  );
}
