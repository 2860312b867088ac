import { parseStartup } from './startup.parser.js';
import { parseSync } from './sync.parser.js';

const NOW = Date.UTC(2026, 10, 20, 12);
const CONTEXT = { env: 'prod', now: NOW };
const UUID = '63d524d0-e69c-47aa-818c-ab3ada75b277';
const COUNT = { method: 'GET', path: '/a', request_count: 2 };

const sync = (members: object) =>
  parseSync(JSON.stringify({ timestamp: NOW / 1000, message_uuid: UUID, ...members }), CONTEXT);

describe('parseSync', () => {
  it('takes missing lists for empty ones, and ignores what it does not know', () => {
    const message = sync({ requests: undefined, validation_errors: 7, server_errors: 'x', resources: [] });
    expect(message).toMatchObject({ counts: [], leftover: null });
  });

  it('needs no status code, which the JavaScript library garbles for paths with a bar in them', () => {
    expect(sync({ requests: [{ ...COUNT, path: '/(a', status_code: null }] }).counts).toHaveLength(1);
  });

  it('reads camel case', () => {
    const { counts } = sync({
      requests: [{ method: 'get', path: '/a', requestCount: 2, requestSizeSum: 3, responseSizeSum: 4 }],
    });
    expect(counts).toMatchObject([{ method: 'GET', requests: 2, bytes_received: 3, bytes_sent: 4 }]);
  });

  it('keeps the time of a late message', () => {
    const timestamp = NOW / 1000 - 3_599.5;
    expect(sync({ timestamp, requests: [COUNT] }).counts[0]?.timestamp).toBe(NOW - 3_599_500);
  });

  it('cuts names as the libraries do', () => {
    const consumers = [{ identifier: 'i'.repeat(200), name: 'n'.repeat(100), group: 'g'.repeat(100) }];
    const { names } = sync({ consumers });
    expect(names[1]?.consumer).toEqual({
      identifier: 'i'.repeat(128),
      name: 'n'.repeat(64),
      group: 'g'.repeat(64),
    });
    const { counts } = sync({ requests: [{ ...COUNT, path: `/${'p'.repeat(2_000)}`, consumer: ' i ' }] });
    expect(counts[0]?.path).toHaveLength(1_024);
    expect(counts[0]?.consumer).toEqual({ identifier: 'i' });
  });

  it('leaves out the entries that it cannot take, unless there are no others', () => {
    const bad = { ...COUNT, request_count: -1 };
    const { counts, leftover } = sync({ requests: [bad, COUNT, { ...COUNT, method: 'a b' }] });
    expect(counts).toHaveLength(1);
    expect(leftover).toEqual({
      rejected: 2,
      reason: expect.stringMatching(/^requests\[0\]\.request_count: /),
    });
    expect(() => sync({ requests: [bad] })).toThrow('requests[0].request_count: must be an integer');
  });

  it.each([
    [{ message_uuid: 'x' }, 'message_uuid: must be a UUID'],
    [{ message_uuid: undefined }, 'message_uuid: must be a string'],
    [{ timestamp: undefined }, 'timestamp: must be a number'],
    [{ timestamp: 'now' }, 'timestamp: must be a number'],
    [{ timestamp: Date.UTC(2025, 9, 20) / 1000 }, 'timestamp: older than the 13 months'],
    [{ timestamp: NOW / 1000 + 90_000 }, 'timestamp: more than a day in the future'],
    [{ requests: {} }, 'requests: must be an array'],
    [{ consumers: 'bob' }, 'consumers: must be an array'],
  ])('refuses %j for good', (members, reason) => {
    expect(() => sync(members)).toThrow(reason);
  });

  it.each(['', '{', 'null', '[]', '7', '"a"'])('refuses the body %p for good', (body) => {
    expect(() => parseSync(body, CONTEXT)).toThrow('body: must be ');
  });
});

describe('parseStartup', () => {
  it.each([
    ['js:express', 'express'],
    ['python:fastapi', 'fastapi'],
    ['express', 'express'],
    ['js:', null],
    [undefined, null],
  ])('learns from the client %p the framework %p', (client, framework) => {
    const text = JSON.stringify({ message_uuid: UUID, client });
    expect(parseStartup(text, CONTEXT).framework).toBe(framework);
  });

  it('writes paths in braces', () => {
    const paths = [
      { method: 'get', path: '/users/:id' },
      { method: 'GET', path: '/users/<int:id>/posts' },
    ];
    const { names } = parseStartup(JSON.stringify({ message_uuid: UUID, paths }), CONTEXT);
    expect(names.slice(1).map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /users/{id}',
      'GET /users/{id}/posts',
    ]);
  });
});
