import { finish } from '../../shared/async/slices.js';
import { findBin } from '../../records/bins.js';
import type { RejectedEntries } from '../../write/batches/rejected-entries.js';
import { parseStartup } from './startup.parser.js';
import { parseSync } from './sync.parser.js';

const NOW = Date.UTC(2026, 10, 20, 12);
const CONTEXT = { env: 'prod', now: NOW };
const UUID = '63d524d0-e69c-47aa-818c-ab3ada75b277';
const COUNT = { method: 'GET', path: '/a', request_count: 2 };

/** A small body is parsed in one step, a large one in many; both have the same meaning. */
const sync = (members: object) => {
  const json = JSON.stringify({ timestamp: NOW / 1000, message_uuid: UUID, ...members });
  const read = (text: string) => finish(parseSync(Buffer.from(text), CONTEXT));
  const message = read(json);
  expect(read(json.padEnd(65_537))).toEqual(message);
  return message;
};

/** Optional members that could not be read. */
const leftOut = ({ members }: RejectedEntries) => [...members.values()].reduce((sum, n) => sum + n, 0);

describe('parseSync', () => {
  it('takes missing lists for empty ones, and ignores what it does not know', () => {
    const message = sync({ requests: undefined, resources: null, colour: 'blue' });
    expect(message).toMatchObject({ counts: [], errors: [], rejected: { count: 0 } });
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

  describe('status codes', () => {
    it.each([100, 200, 404, 599, 999])('keeps %d', (status_code) => {
      expect(sync({ requests: [{ ...COUNT, status_code }] }).counts).toMatchObject([{ status_code }]);
    });

    it.each([undefined, null])('does not know %p', (status_code) => {
      const { counts, rejected } = sync({ requests: [{ ...COUNT, status_code }] });
      expect([counts[0]?.status_code, rejected.count]).toEqual([0, 0]);
    });

    it.each([0, -1, 99, 1000, 200.5, '200', {}])('does not know %j, and says so', (status_code) => {
      const { counts, rejected } = sync({ requests: [{ ...COUNT, status_code }] });
      expect(counts).toMatchObject([{ status_code: 0, requests: 2 }]);
      expect([...rejected.members]).toEqual([['requests[].status_code', 1]]);
    });
  });

  describe('histograms', () => {
    const read = (histograms: object) => {
      const { counts, rejected } = sync({ requests: [{ ...COUNT, ...histograms }] });
      return { bins: counts[0]?.bins, requests: counts[0]?.requests, leftOut: leftOut(rejected) };
    };

    it('become bins: times of 10 ms, sizes of 1,000 bytes, by their middles', () => {
      const { bins } = read({
        response_times: { '0': 3, '120': 2 },
        request_sizes: { '0': 1 },
        response_sizes: { '4': 5 },
      });
      expect(bins).toEqual([
        ['time', findBin(0.005), 3],
        ['time', findBin(0.125), 2],
        ['received', findBin(500), 1],
        ['sent', findBin(4_500), 5],
      ]);
    });

    it('add up keys that share a bin', () => {
      const { bins } = read({ response_times: { '90000': 1, '90010': 2, '90020': 4 } });
      expect(bins).toEqual([['time', findBin(90.005), 7]]);
    });

    it('are read in camel case as well', () => {
      expect(read({ responseTimes: { '10': 1 } }).bins).toEqual([['time', findBin(0.015), 1]]);
    });

    it.each([undefined, null, {}])('may be %j', (response_times) => {
      expect(read({ response_times })).toEqual({ bins: [], requests: 2, leftOut: 0 });
    });

    it.each(['NaN', '-10', '1.5', '1e3', '', ' 10', '010', '2147483649', 'Infinity', '__proto__'])(
      'leave out the key %j, and say so',
      (key) => {
        const response_times = JSON.parse(`{"${key}":1,"10":1}`) as object;
        expect(read({ response_times })).toEqual({
          bins: [['time', findBin(0.015), 1]],
          requests: 2,
          leftOut: 1,
        });
      },
    );

    it.each([0, -1, 1.5, '1', null, {}, 1e300])('leave out the count %j, and say so', (count) => {
      expect(read({ response_sizes: { '0': count, '1': 1 } })).toEqual({
        bins: [['sent', findBin(1_500), 1]],
        requests: 2,
        leftOut: 1,
      });
    });

    it.each([[[1]], ['x'], [7]])('are left out where they are %j, and cost nothing', (request_sizes) => {
      expect(read({ request_sizes })).toEqual({ bins: [], requests: 2, leftOut: 1 });
    });

    it('take the largest key', () => {
      expect(read({ request_sizes: { '2147483648': 1 } }).bins).toEqual([
        ['received', findBin(2_147_483_648_500), 1],
      ]);
    });
  });

  describe('errors', () => {
    const VALIDATION = {
      method: 'POST',
      path: '/a/:id',
      loc: ['body', 'items', 0],
      msg: 'missing',
      type: 'value',
    };
    const SERVER = { method: 'get', path: '/b', type: 'ValueError', msg: 'no', traceback: 'at b' };

    it('are kept, with how often they came', () => {
      const { errors, rejected } = sync({
        validation_errors: [{ ...VALIDATION, consumer: ' bob ', error_count: 3 }],
        server_errors: [{ ...SERVER, sentry_event_id: 'e1', error_count: 1 }],
      });
      expect(errors).toEqual([
        {
          kind: 'validation',
          env: 'prod',
          timestamp: NOW,
          consumer: { identifier: 'bob' },
          method: 'POST',
          path: '/a/{id}',
          type: 'value',
          message: 'missing',
          location: ['body', 'items', '0'],
          stacktrace: '',
          sentry_event_id: '',
          errors: 3,
        },
        {
          kind: 'server',
          env: 'prod',
          timestamp: NOW,
          consumer: null,
          method: 'GET',
          path: '/b',
          type: 'ValueError',
          message: 'no',
          location: [],
          stacktrace: 'at b',
          sentry_event_id: 'e1',
          errors: 1,
        },
      ]);
      expect(rejected.count).toBe(0);
    });

    it('are cut where they are too long', () => {
      const [error] = sync({
        server_errors: [
          {
            ...SERVER,
            type: 't'.repeat(300),
            msg: 'm'.repeat(3_000),
            traceback: 's'.repeat(70_000),
            loc: Array(40).fill('l'.repeat(200)),
            error_count: 1,
          },
        ],
      }).errors;
      expect([error!.type, error!.message, error!.stacktrace].map(({ length }) => length)).toEqual([
        256, 2_048, 65_536,
      ]);
      expect(error!.location).toEqual(Array(32).fill('l'.repeat(128)));
    });

    it.each([
      [7, 1],
      [[7], 1],
      [[{ ...VALIDATION, error_count: 0 }], 1],
      [[{ ...VALIDATION, error_count: 1, method: 'a b' }, VALIDATION], 2],
      [[{ ...VALIDATION, error_count: 1, path: 7 }], 1],
    ])('that cannot be read are left out, and cost nothing: %j', (validation_errors, count) => {
      const message = sync({ requests: [COUNT], validation_errors });
      expect(message.errors).toEqual([]);
      expect(message.counts).toHaveLength(1);
      expect([leftOut(message.rejected), message.rejected.count]).toEqual([count, 0]);
    });

    it('lose what of them cannot be read, and no more', () => {
      const { errors, rejected } = sync({
        server_errors: [{ ...SERVER, error_count: 2, consumer: {}, type: 7, msg: null, loc: [{}, 'a'] }],
      });
      expect(errors).toMatchObject([{ errors: 2, consumer: null, type: '', message: '', location: ['a'] }]);
      expect([...rejected.members]).toEqual([
        ['server_errors[].consumer', 1],
        ['server_errors[].type', 1],
        ['server_errors[].loc', 1],
      ]);
    });

    it('are kept up to the most that are looked at', () => {
      const many = Array.from({ length: 20_002 }, () => ({ ...SERVER, error_count: 1 }));
      const { errors, rejected } = sync({ server_errors: many });
      expect([errors.length, leftOut(rejected)]).toEqual([20_000, 2]);
    });
  });

  describe('resources', () => {
    const read = (resources: unknown) => {
      const { report, rejected } = sync({ resources });
      return { cpu: report!.cpu_percent, memory: report!.memory_rss, leftOut: leftOut(rejected) };
    };

    it.each([
      [{ cpu_percent: 112.5, memory_rss: 73_400_320 }, 112.5, 73_400_320, 0],
      [{ cpuPercent: 0, memoryRss: 1.5 }, 0, 2, 0],
      [{ cpu_percent: null }, null, null, 0],
      [null, null, null, 0],
      [{ cpu_percent: -1, memory_rss: 'much' }, null, null, 2],
      [[], null, null, 1],
      ['x', null, null, 1],
    ])('of %j are kept as far as they can be read', (resources, cpu, memory, remaining) => {
      expect(read(resources)).toEqual({ cpu, memory, leftOut: remaining });
    });
  });

  it('keeps the process that sent it, and takes a message without it', () => {
    expect(sync({ instance_uuid: UUID.toUpperCase() }).instanceUuid).toBe(UUID);
    expect(sync({})).toMatchObject({ instanceUuid: null, rejected: { count: 0 } });
    const { instanceUuid, rejected } = sync({ instance_uuid: 'x' });
    expect([instanceUuid, leftOut(rejected)]).toEqual([null, 1]);
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
  ])('leaves out what it cannot read of the count %j alone, and names it', (members, remaining, name) => {
    const given = { ...COUNT, consumer: 'bob', request_size_sum: 3, response_size_sum: 2 * 2 ** 44 };
    const [whole] = sync({ requests: [given] }).counts;
    const { counts, rejected } = sync({ requests: [{ ...given, ...members }] });
    expect(counts).toEqual([{ ...whole, ...remaining }]);
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

  it('rejects more values than it can parse, before it parses them', () => {
    const json = (count: number, entry: string) => `{"requests":[${`${entry},`.repeat(count)}${entry}]}`;
    const rejected = (text: string) => () => finish(parseSync(Buffer.from(text), CONTEXT));
    expect(rejected(json(500_000, '1'))).toThrow('body: must have at most 500000 entries in a list');
    expect(rejected(json(0, `[${'1,'.repeat(50_000)}1]`))).toThrow(
      'body: must have at most 50000 values in a member',
    );
    expect(rejected(`{"resources":[${'['.repeat(50_001)}`)).toThrow('body: must be valid JSON');
    const members = Array.from({ length: 1_001 }, (_, n) => `"m${n}":1`).join();
    expect(rejected(`{${members}}`)).toThrow('body: must have at most 1000 members');
  });

  it('is read in a step for each entry, and so is a startup', () => {
    const many = <T>(entry: T) => Array.from({ length: 1_000 }, () => entry);
    const body = (members: object) => Buffer.from(JSON.stringify({ message_uuid: UUID, ...members }));
    for (const steps of [
      parseSync(body({ timestamp: NOW / 1000, requests: many(COUNT) }), CONTEXT),
      parseStartup(body({ paths: many({ method: 'GET', path: '/a' }) }), CONTEXT),
    ]) {
      let count = 0;
      for (; steps.next().done !== true; count++);
      expect(count).toBeGreaterThan(2_000);
    }
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
  ])('rejects %j for good', (members, reason) => {
    expect(() => sync(members)).toThrow(reason);
  });

  it.each(['', '{', 'null', '[]', '7', '"a"'])('rejects the body %p for good', (body) => {
    expect(() => finish(parseSync(Buffer.from(body), CONTEXT))).toThrow('body: must be ');
  });
});

describe('parseStartup', () => {
  const startup = (members: object) =>
    finish(parseStartup(Buffer.from(JSON.stringify({ message_uuid: UUID, ...members })), CONTEXT));

  it('keeps the client and the versions of packages', () => {
    const versions = { express: '5.1.0', app: '1.2.3+build' };
    expect(startup({ client: 'js:express', versions }).report).toEqual({
      timestamp: NOW,
      cpu_percent: null,
      memory_rss: null,
      client: 'js:express',
      versions,
      app_version: '1.2.3+build',
    });
  });

  it.each([
    [undefined, {}, 0],
    [null, {}, 0],
    [{ a: '1', b: null }, { a: '1' }, 0],
    [{ a: '1', b: 2 }, { a: '1' }, 1],
    [['1'], {}, 1],
    [{ ['n'.repeat(200)]: 'v'.repeat(200) }, { ['n'.repeat(128)]: 'v'.repeat(128) }, 0],
  ])('reads the versions %j as far as it can', (versions, kept, count) => {
    const { report, rejected } = startup({ versions });
    expect([report!.versions, leftOut(rejected)]).toEqual([kept, count]);
  });

  it('keeps as many versions as an application has packages', () => {
    const versions = Object.fromEntries(Array.from({ length: 130 }, (_, n) => [`p${n}`, '1']));
    const { report, rejected } = startup({ versions });
    expect([Object.keys(report!.versions).length, leftOut(rejected)]).toEqual([100, 30]);
  });

  it.each([
    ['js:express', 'express'],
    ['python:fastapi', 'fastapi'],
    ['express', 'express'],
    ['js:', null],
    [undefined, null],
  ])('learns from the client %p the framework %p', (client, framework) => {
    const body = Buffer.from(JSON.stringify({ message_uuid: UUID, client }));
    expect(finish(parseStartup(body, CONTEXT)).framework).toBe(framework);
  });

  it('registers the endpoints beside a client that it cannot read', () => {
    const body = { message_uuid: UUID, client: ['js:express'], paths: [{ method: 'GET', path: '/a' }] };
    const { names, framework, rejected } = finish(parseStartup(Buffer.from(JSON.stringify(body)), CONTEXT));
    expect([names.length, framework, rejected.count]).toEqual([2, null, 0]);
    expect([...rejected.members]).toEqual([['client', 1]]);
  });

  it('writes paths in braces', () => {
    const paths = [
      { method: 'get', path: '/users/:id' },
      { method: 'GET', path: '/users/<int:id>/posts' },
    ];
    const { names } = finish(
      parseStartup(Buffer.from(JSON.stringify({ message_uuid: UUID, paths })), CONTEXT),
    );
    expect(names.slice(1).map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /users/{id}',
      'GET /users/{id}/posts',
    ]);
  });
});
