import { parseStartup } from './startup.parser.js';
import { parseSync } from './sync.parser.js';

const NOW = Date.UTC(2026, 10, 20, 12);
const CONTEXT = { env: 'prod', now: NOW };
const UUID = '63d524d0-e69c-47aa-818c-ab3ada75b277';
const COUNT = { method: 'GET', path: '/a', request_count: 2 };

const sync = (members: object) =>
  parseSync(Buffer.from(JSON.stringify({ timestamp: NOW / 1000, message_uuid: UUID, ...members })), CONTEXT);

describe('parseSync', () => {
  it('takes missing lists for empty ones, and ignores what it does not know', () => {
    const message = sync({ requests: undefined, validation_errors: 7, server_errors: 'x', resources: [] });
    expect(message).toMatchObject({ counts: [], rejected: { count: 0 } });
  });

  describe('of the JavaScript library, which splits consumer, method, path and status at each bar', () => {
    /** As `RequestCounter` of the npm package sends a count. */
    const split = (consumer: string, method: string, path: string, status: number) => {
      const [first, second, third, fourth = ''] = [consumer, method, path, status].join('|').split('|');
      return {
        consumer: first === '' ? null : first,
        method: second,
        path: third,
        status_code: Number.isNaN(parseInt(fourth)) ? null : parseInt(fourth),
        request_count: 2,
      };
    };
    const read = (count: object) => {
      const [{ consumer, method, path, registersPath, requests } = {}] = sync({ requests: [count] }).counts;
      return { consumer: consumer?.identifier ?? null, method, path, registersPath, requests };
    };

    it.each([
      ['auth0|5f7c8ec7c33c6c004bbafe01', 'POST', '/a/:id', 201],
      ['google-oauth2|1137', 'GET', '/', 200],
      ['pipe|user', 'DELETE', '/b', 404],
      ['auth0|', 'PATCH', '/b', 200],
      ['|x', 'GET', '/b', 200],
      ['a|GET', 'GET', '/b', 200],
    ])('repairs the consumer %s of %s %s', (consumer, method, path, status) => {
      expect(split(consumer, method, path, status).status_code).toBeNull();
      expect(read(split(consumer, method, path, status))).toMatchObject({
        consumer,
        method,
        path: null,
        requests: 2,
      });
    });

    it.each([
      ['a|b|c', 'GET', '/b', 200],
      ['a|b|c|d', 'GET', '/b', 200],
      ['a|b|c|7', 'GET', '/b', 200],
    ])('counts requests of the consumer %s without consumer and endpoint', (...count) => {
      expect(read(split(...count))).toMatchObject({ consumer: null, path: null, requests: 2 });
    });

    it('does not make an endpoint of what is left of a path with a bar', () => {
      expect(read(split('anna', 'GET', '/(a|b)', 200))).toMatchObject({
        consumer: 'anna',
        path: '/(a',
        registersPath: false,
      });
    });

    it.each([
      ['anna', 'GET', '/a', 200],
      ['', 'GET', '', 404],
    ])('leaves %j %s %j as it is', (consumer, method, path, status) => {
      expect(read(split(consumer, method, path, status))).toEqual({
        consumer: consumer || null,
        method,
        path: path || null,
        requests: 2,
      });
    });
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
    const { counts, rejected } = sync({ requests: [bad, COUNT, { ...COUNT, method: 'a b' }] });
    expect(counts).toHaveLength(1);
    expect(rejected).toMatchObject({
      count: 2,
      reason: expect.stringMatching(/^requests\[0\]\.request_count: /),
    });
    expect(() => sync({ requests: [bad] })).toThrow('requests[0].request_count: must be an integer');
  });

  it.each([
    [{ consumer: true }, { consumer: null }, 'requests[].consumer'],
    [{ consumer: { name: 'Bob' } }, { consumer: null }, 'requests[].consumer'],
    [{ request_size_sum: -1 }, { bytes_received: 0 }, 'requests[].request_size_sum'],
    [{ request_size_sum: 'NaN' }, { bytes_received: 0 }, 'requests[].request_size_sum'],
    [{ request_size_sum: 2 * 2 ** 44 + 1 }, { bytes_received: 0 }, 'requests[].request_size_sum'],
    [{ response_size_sum: 1.5 }, { bytes_sent: 0 }, 'requests[].response_size_sum'],
    [{ response_size_sum: 2 ** 53 }, { bytes_sent: 0 }, 'requests[].response_size_sum'],
  ])('leaves out what it cannot read of the count %j alone, and names it', (members, left, name) => {
    const given = { ...COUNT, consumer: 'bob', request_size_sum: 3, response_size_sum: 2 * 2 ** 44 };
    const [whole] = sync({ requests: [given] }).counts;
    const { counts, rejected } = sync({ requests: [{ ...given, ...members }] });
    expect(counts).toEqual([{ ...whole, ...left }]);
    expect([rejected.count, [...rejected.members]]).toEqual([0, [[name, 1]]]);
  });

  it.each([
    ['', null],
    [' ', null],
    [null, null],
    [7, { identifier: '7' }],
    [{ identifier: 'bob', name: 7 }, { identifier: 'bob' }],
  ])('reads the consumer %j of a count', (consumer, expected) => {
    const { counts, rejected } = sync({ requests: [{ ...COUNT, consumer }] });
    expect([counts[0]?.consumer, rejected.count]).toEqual([expected, 0]);
  });

  it('takes null for a size that is not known, as JavaScript writes NaN', () => {
    const { counts, rejected } = sync({ requests: [{ ...COUNT, request_size_sum: NaN }] });
    expect(counts).toMatchObject([{ requests: 2, bytes_received: 0 }]);
    expect(rejected.members.size).toBe(0);
  });

  it.each([
    ['bob', 'consumers'],
    [{ identifier: 'bob' }, 'consumers'],
    [[{ identifier: 'bob', name: ['b'], group: 7 }], 'consumers[].name,consumers[].group'],
  ])('keeps the counts beside the consumers %j', (consumers, names) => {
    const { counts, rejected } = sync({ requests: [COUNT], consumers });
    expect(counts).toMatchObject([{ requests: 2 }]);
    expect([rejected.count, [...rejected.members.keys()].join()]).toEqual([0, names]);
  });

  it.each([null, {}, { name: 'Bob' }, { identifier: ' ' }, '', true])(
    'keeps the counts beside the consumer %j, which it rejects',
    (consumer) => {
      const { counts, rejected } = sync({ requests: [COUNT], consumers: [consumer] });
      expect(counts).toHaveLength(1);
      expect(rejected).toMatchObject({ count: 1, reason: 'consumers[0].identifier: must not be empty' });
      expect(rejected.members.size).toBe(0);
    },
  );

  it('refuses more values than it can parse, before it parses them', () => {
    const body = Buffer.from(`{"requests":[${'{},'.repeat(1_000_000)}{}]}`);
    expect(() => parseSync(body, CONTEXT)).toThrow('body: must have at most 1500000 values');
  });

  it('rejects the entries behind the last that is allowed', () => {
    const { counts, rejected } = sync({ requests: Array.from({ length: 20_003 }, () => COUNT) });
    expect(counts).toHaveLength(20_000);
    expect(rejected).toMatchObject({ count: 3 });
  });

  it.each([
    [{ message_uuid: 'x' }, 'message_uuid: must be a UUID'],
    [{ message_uuid: undefined }, 'message_uuid: must be a string'],
    [{ timestamp: undefined }, 'timestamp: must be a number'],
    [{ timestamp: 'now' }, 'timestamp: must be a number'],
    [{ timestamp: Date.UTC(2025, 9, 20) / 1000 }, 'timestamp: older than the 13 months'],
    [{ timestamp: NOW / 1000 + 90_000 }, 'timestamp: more than a day in the future'],
    [{ requests: {} }, 'requests: must be an array'],
  ])('refuses %j for good', (members, reason) => {
    expect(() => sync(members)).toThrow(reason);
  });

  it.each(['', '{', 'null', '[]', '7', '"a"'])('refuses the body %p for good', (body) => {
    expect(() => parseSync(Buffer.from(body), CONTEXT)).toThrow('body: must be ');
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
    const body = Buffer.from(JSON.stringify({ message_uuid: UUID, client }));
    expect(parseStartup(body, CONTEXT).framework).toBe(framework);
  });

  it('registers the endpoints beside a client that it cannot read', () => {
    const body = { message_uuid: UUID, client: ['js:express'], paths: [{ method: 'GET', path: '/a' }] };
    const { names, framework, rejected } = parseStartup(Buffer.from(JSON.stringify(body)), CONTEXT);
    expect([names.length, framework, rejected.count]).toEqual([2, null, 0]);
    expect([...rejected.members]).toEqual([['client', 1]]);
  });

  it('writes paths in braces', () => {
    const paths = [
      { method: 'get', path: '/users/:id' },
      { method: 'GET', path: '/users/<int:id>/posts' },
    ];
    const { names } = parseStartup(Buffer.from(JSON.stringify({ message_uuid: UUID, paths })), CONTEXT);
    expect(names.slice(1).map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /users/{id}',
      'GET /users/{id}/posts',
    ]);
  });
});
