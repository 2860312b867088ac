import type { StoredMessage } from './alert-store.js';
import { writeBody, writeMail } from './messages.js';

const MAX_BYTES = 28_000;

const buildMessage = (channel: StoredMessage['channel'], count: number, lines: number): StoredMessage => ({
  team_id: 1,
  message_id: '00000000-0000-4000-8000-000000000000',
  created_at: 0,
  channel,
  target: '',
  transitions: [],
  alerts: JSON.stringify(
    Array.from({ length: count }, (_, index) => ({
      status: 'resolved',
      labels: {
        alertname: 'weekly',
        severity: 'info',
        app: `Shop ${index}`,
        ...(lines > 0 && { digest: 'weekly' }),
      },
      annotations: {
        summary: `Shop ${index} ${'ä'.repeat(190)}`,
        ...(lines > 0 && {
          description: Array.from({ length: lines }, (_, line) => `${line} "${'ä'.repeat(190)}`).join('\n'),
        }),
      },
      startsAt: '2026-11-16T00:00:00.000Z',
      endsAt: '2026-11-23T00:00:00.000Z',
      generatorURL: 'https://analytics.example.com/',
      fingerprint: '0123456789abcdef',
    })),
  ),
  attempts: 0,
  state: 'waiting',
  next_at: 0,
  error: '',
});

describe('a message of many alerts with long names', () => {
  it.each([
    ['slack', 0],
    ['teams', 0],
    ['slack', 9],
    ['teams', 9],
  ] as const)('fits into %s, with %i lines each', (channel, lines) => {
    const body = writeBody(buildMessage(channel, 90, lines), 'https://analytics.example.com');
    expect(Buffer.byteLength(body)).toBeLessThan(MAX_BYTES);
    const [, more] = /and (\d+) more/.exec(body)!;
    expect(body.match(/analytics\.example\.com/g)!.length).toBeGreaterThanOrEqual(90 - Number(more));
  });

  it('is whole in an e-mail', () => {
    const { subject, text } = writeMail(buildMessage('email', 90, 9));
    expect(subject).toBe('Weekly digest of 90 apps');
    expect(text).not.toContain('more');
    expect(text.split('\n')).toHaveLength(90 * 10 + 1);
  });
});
