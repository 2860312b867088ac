import { hash } from 'node:crypto';
import type { Channel, Rule } from '../api/alerts/rule.js';
import { describeRule } from '../api/alerts/rule.js';
import { hashUuid } from '../shared/hash-uuid.js';
import { MINUTE_MS } from '../shared/time/units.js';
import type { StoredMessage, StoredRule, StoredState } from './alert-store.js';
import { type Digest, describeDigest } from './digest.js';
import { toText } from './visible-text.js';

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
/** Slack cuts a text of 40,000 characters, and Teams refuses a message of 28 KB. */
const MAX_CHAT_BYTES = 24_000;
/** The JSON around a line of a card. */
const LINE_BYTES = 70;
const NO_END = '0001-01-01T00:00:00Z';

/** A transition with its rule, and the name of its app. */
export interface Transition {
  readonly state: StoredState;
  readonly rule: Rule;
  readonly channels: readonly Channel[];
  readonly appName: string;
  /** Of the transition of a digest. */
  readonly digest?: Digest;
}

/**
 * One message for each receiver of a team with all transitions that it is told of, and one with all digests.
 * Its ID depends on them alone.
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
      const key = JSON.stringify([teamId, channel.kind, channel.target, transition.state.told === 'digest']);
      const group = groups.get(key) ?? { teamId, channel, transitions: [] };
      group.transitions.push(transition);
      groups.set(key, group);
    }
  return Array.from(groups, ([key, { teamId, channel, transitions }]) => {
    // Of digests the apps with the most requests come first.
    const countRequests = ({ digest }: Transition) => digest?.now.requests ?? 0;
    const all = transitions.toSorted((a, b) => countRequests(b) - countRequests(a));
    const ids = transitions.map(({ state }) => state.transition_id).sort();
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

/** A transition that says nothing but that a receiver is reachable, or the digest of an app. */
export function createTestTransition(
  { team_id, app_id, name, channels }: StoredRule,
  rule: Rule,
  now: number,
  app?: { id: number; name: string; digest: Digest },
): Transition {
  const state: StoredState = {
    team_id,
    rule_app_id: app_id,
    rule: name,
    app_id: app?.id ?? app_id,
    since: now,
    transition_id: hashUuid(`test ${now} ${app?.id ?? ''}`),
    state: app ? 'ok' : 'firing',
    value: null,
    results: [],
    fired_at: app ? 0 : now,
    told: app ? 'digest' : 'firing',
    evaluated_at: now,
  };
  return {
    state,
    rule,
    channels: JSON.parse(channels) as Channel[],
    appName: app?.name ?? 'this is a test',
    ...(app && { digest: app.digest }),
  };
}

function toAlert({ state, rule, appName, digest }: Transition, dashboardUrl: string): ToldAlert {
  const { rule: name, app_id, team_id, since, fired_at, told, value, evaluated_at } = state;
  const labels = {
    ...(digest && { digest: 'weekly' }),
    alertname: toText(name),
    severity: rule.severity,
    team_id: String(team_id),
    app_id: String(app_id),
    app: toText(appName),
    ...(rule.env !== undefined && { env: toText(rule.env) }),
  };
  const condition = toText(describeRule(rule));
  const fingerprint = hash('sha256', JSON.stringify(labels)).slice(0, 16);
  if (digest) {
    const { start, end } = digest.window;
    const { summary, lines, values } = describeDigest(digest, rule, appName);
    return {
      // So that no receiver opens an incident that would never end.
      status: 'resolved',
      labels,
      annotations: {
        summary,
        description: lines.join('\n'),
        condition,
        ...values,
        transition_id: state.transition_id,
      },
      startsAt: new Date(start).toISOString(),
      endsAt: new Date(end).toISOString(),
      generatorURL: linkTo(dashboardUrl, app_id, start, end, rule),
      fingerprint,
    };
  }
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
    generatorURL: linkTo(dashboardUrl, app_id, from, evaluated_at, rule),
    fingerprint,
  };
}

/** The window of a rule in the dashboard, with the filters that both have. */
function linkTo(dashboardUrl: string, appId: number, from: number, to: number, rule: Rule): string {
  const { metric, env, method, path, status } = rule;
  const query = new URLSearchParams({
    ...(metric === 'new_errors' && { view: 'errors' }),
    app: String(appId),
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    ...(env !== undefined && { env }),
    ...(method !== undefined && { method: method.toUpperCase() }),
    // A rule has no escapes.
    ...(path !== undefined && { path: path.replaceAll('\\', '\\\\') }),
    ...(status !== undefined && { status }),
  });
  return `${dashboardUrl.replace(/\/$/, '')}/?${query.toString()}`;
}

function formatValue(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** The request of a message to a URL. */
export function writeBody({ channel, team_id, alerts }: StoredMessage, externalUrl: string): string {
  const all = JSON.parse(alerts) as ToldAlert[];
  const shown = all.slice(0, MAX_ALERTS);
  if (channel === 'slack')
    return JSON.stringify({ text: writeLines(all, escapeSlack, MAX_CHAT_BYTES).join('\n'), mrkdwn: false });
  if (channel === 'teams') return JSON.stringify(writeCard(all));
  // Apart from the alerts of the team, or receivers would take them for ended.
  const isDigest = all[0]?.labels.digest !== undefined;
  return JSON.stringify({
    version: '4',
    groupKey: `{}:{${isDigest ? 'digest="weekly", ' : ''}team_id="${team_id}"}`,
    truncatedAlerts: all.length - shown.length,
    status: all.some(({ status }) => status === 'firing') ? 'firing' : 'resolved',
    receiver: 'request-analytics',
    groupLabels: { ...(isDigest && { digest: 'weekly' }), team_id: String(team_id) },
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
    first?.labels.digest !== undefined
      ? `Weekly digest of ${all.length === 1 ? (first.labels.app ?? '') : `${all.length} apps`}`
      : all.length === 1 && first
        ? `[${first.status.toUpperCase()}] ${first.labels.alertname ?? ''} (${first.labels.app ?? ''})`
        : `${firing} firing, ${all.length - firing} resolved`;
  return { subject, text: `${writeLines(all, (text) => text).join('\n')}\n` };
}

/** A line for each alert, and the lines of each digest. */
function writeLines(
  alerts: readonly ToldAlert[],
  escape: (text: string) => string,
  maxBytes = Infinity,
): string[] {
  const written: string[] = [];
  let bytes = 0;
  for (const [index, alert] of alerts.entries()) {
    const lines = describeAlert(alert).map(escape);
    for (const line of lines) bytes += Buffer.byteLength(JSON.stringify(line)) + LINE_BYTES;
    if (index === MAX_ALERTS || (index > 0 && bytes > maxBytes))
      return [...written, `and ${alerts.length - index} more`];
    written.push(...lines);
  }
  return written;
}

function describeAlert({ status, labels, annotations, generatorURL }: ToldAlert): string[] {
  const { summary = '', description } = annotations;
  if (description !== undefined) return [...description.split('\n'), generatorURL];
  return [`[${status.toUpperCase()}] ${summary} (${labels.severity ?? ''}) ${generatorURL}`];
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
          body: writeLines(alerts, (text) => text, MAX_CHAT_BYTES).map((text) => ({
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
