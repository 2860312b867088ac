import fc from 'fast-check';
import { TestApp } from '../setup/app.js';
import { type Operation, type Parameter, fill, operations } from '../setup/document.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { Tenant } from '../setup/tenant.js';
import { type IssueBody, REASONS, badValues, expectedIssue } from '../setup/validation-errors.js';

/** More with `PROPERTY_RUNS`, as in a nightly run. */
const RUNS = Number(process.env.PROPERTY_RUNS ?? 6);

const UUID = '67e55044-10b1-426f-9247-bb680e5fe0c8';

/**
 * Operations, and the parameters of each in the order of validation (docs/contract.md#operations,
 * docs/contract.md#order).
 */
const PARAMETERS: Record<string, string[]> = {
  getTeam: [],
  listApps: [],
  listEndpoints: ['app_id', 'app_env_id', 'method', 'path', 'include'],
  listConsumers: ['app_id', 'requests_since', 'include', 'limit', 'next_token'],
  listInstances: ['app_id', 'app_env_id', 'start', 'end', 'periods', 'limit', 'next_token'],
  listReleases: ['app_id', 'app_env_id', 'start', 'end', 'limit', 'next_token'],
  listAlerts: ['app_id'],
  getPrometheusMetrics: ['app_id', 'routes'],
  getRequestLogs: [
    'app_id',
    'app_env_id',
    'consumer_id',
    'method',
    'path',
    'status_code',
    'start',
    'end',
    'limit',
    'next_token',
  ],
  getRequestLogFacets: [
    'app_id',
    'app_env_id',
    'consumer_id',
    'method',
    'path',
    'status_code',
    'start',
    'end',
    'field',
    'limit',
  ],
  getRequestDetails: ['app_id', 'request_uuid', 'include_consumer_id', 'include_log_attributes'],
  getTraffic: [
    'app_id',
    'app_env_id',
    'consumer_id',
    'start',
    'end',
    'interval',
    'timezone',
    'limit',
    'next_token',
  ],
};

let app: TestApp;
let tenant: Tenant;

beforeAll(async () => {
  app = await TestApp.start();
  tenant = await Tenant.create(app);
  await tenant.write(...['ann', 'bob', 'eve'].map((identifier) => ({ consumer: { identifier } })));
});

afterAll(async () => {
  closeConnections();
  await app.stop();
});

type Values = readonly (readonly [name: string, value: string])[];

/** The target with these values, escaped; the query in the order given. */
function target({ path, parameters }: Operation, values: Values): string {
  const inPath = new Set(parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name));
  const segments: Record<string, string | number> = { app_id: tenant.appId, request_uuid: UUID };
  for (const [name, value] of values) if (inPath.has(name)) segments[name] = encodeURIComponent(value);
  const query = values.filter(([name]) => !inPath.has(name));
  return `${fill(path, segments)}?${query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}`;
}

const call = (path: string) => sendRaw(app.url, path, { headers: { 'Api-Key': tenant.key } });

async function expectIssues(path: string, issues: readonly IssueBody[]) {
  const { status, text } = await call(path);
  expect([path, status, text]).toEqual([path, 422, JSON.stringify({ detail: issues })]);
}

const operation = (id: string) => operations.find((operation) => operation.id === id)!;
const parameter = (id: string, name: string) =>
  operation(id).parameters.find((parameter) => parameter.name === name)!;
const cases = operations.flatMap((operation) =>
  operation.parameters.map((parameter) => [operation.id, parameter.name, operation, parameter] as const),
);

it('knows every parameter of the contract, in its order', () => {
  const documented = operations.map(
    ({ id, parameters }) => [id, parameters.map(({ name }) => name)] as const,
  );
  expect(Object.fromEntries(documented)).toEqual(PARAMETERS);
});

describe('a value that is refused', () => {
  it.each(cases)('%s: %s', async (_id, name, operation, parameter) => {
    // An empty path segment is another path.
    const bad = badValues(parameter).filter(({ value }) => parameter.in === 'query' || value !== '');
    expect(bad.length).toBeGreaterThan(0);
    for (const { value, issue } of bad) await expectIssues(target(operation, [[name, value]]), [issue]);
  });

  it.each(cases)('%s: %s that is no text', async (_id, name, operation, parameter) => {
    for (const raw of ['%', '%zz', '1%', '%ff', '%C3', '%ED%A0%80', '%C0%AF']) {
      const path = target(operation, [[name, 'RAW']]).replace('RAW', raw);
      const { status, text } = await call(path);
      expect([path, status, (JSON.parse(text) as { detail: IssueBody[] }).detail]).toMatchObject([
        path,
        422,
        [{ type: 'string_unicode', loc: [parameter.in, name], input: raw }],
      ]);
    }
  });

  it.each(cases)('%s: %s with a NUL', async (_id, name, operation, parameter) => {
    for (const value of ['\0', '1\0', '\x001']) {
      const { status, text } = await call(target(operation, [[name, value]]));
      const { detail } = JSON.parse(text) as { detail: IssueBody[] };
      expect([status, detail.map(({ loc, input }) => [loc, input])]).toEqual([
        422,
        [[[parameter.in, name], value]],
      ]);
    }
  });
});

describe('all issues at once', () => {
  it.each(operations.filter(({ parameters }) => parameters.length > 0))(
    '$id: path first, then the order of the table, in any order of the query',
    async (operation) => {
      const bad = operation.parameters.map((parameter) =>
        badValues(parameter).find(({ value }) => value !== '')!,
      );
      const values = bad.map(({ value, issue }) => [issue.loc[1], value] as const);
      const issues = bad.map(({ issue }) => issue);
      await expectIssues(target(operation, values), issues);
      await expectIssues(target(operation, values.toReversed()), issues);
    },
  );

  it('any of them in any order', async () => {
    const choice = (param: Parameter) => {
      const bad = badValues(param).filter(({ value }) => value !== '');
      return fc.option(fc.constantFrom(...bad), { nil: undefined });
    };
    const request = fc
      .constantFrom(...operations.filter(({ parameters }) => parameters.length > 0))
      .chain((operation) =>
        fc.record({
          operation: fc.constant(operation),
          bad: fc.tuple(...operation.parameters.map(choice)),
          order: fc.array(fc.nat(), { minLength: 12, maxLength: 12 }),
        }),
      );
    await fc.assert(
      fc.asyncProperty(request, async ({ operation, bad, order }) => {
        const present = bad.filter((value) => value !== undefined);
        const shuffled = present
          .map(({ value, issue }, at) => [order[at] ?? 0, issue.loc[1], value] as const)
          .sort(([a], [b]) => a - b)
          .map(([, name, value]) => [name, value] as const);
        const path = target(operation, shuffled);
        if (present.length > 0)
          await expectIssues(
            path,
            present.map(({ issue }) => issue),
          );
        else expect([200, 404]).toContain((await call(path)).status);
      }),
      { numRuns: 10 * RUNS },
    );
  });
});

describe('a valid value', () => {
  it.each(cases)('%s: the examples and the default of %s', async (_id, name, operation, { schema }) => {
    const { examples = [], default: standard } = schema;
    // An example of a token is of no query of ours.
    const values = name === 'next_token' ? [] : [...examples, ...(standard === undefined ? [] : [standard])];
    // Without a start, an end in the past lies before it.
    const others = name === 'end' ? [['start', '1970-01-01'] as const] : [];
    for (const value of values) {
      const path = target(operation, [...others, [name, String(value)]]);
      expect([200, 404]).toContain((await call(path)).status);
    }
  });

  it.each([
    ['limit=0&limit=1', 1],
    ['limit=x&limit=2', 2],
    ['limit=1&limit=3', 3],
    ['limit=1&%6Cimit=2', 2],
    ['limit=%201_0.00%20&limit=+2', 2],
    ['limit=2&limit[]=0&limit[a]=x&limit.x=0&LIMIT=0&limit%00=0', 2],
    ['limit=1&__proto__=1&__proto__[limit]=0&constructor[prototype][limit]=0&toString=1', 1],
    ['limit=1&nothing=x&%=%&=&&&?', 1],
    ['limit=007', 3],
    ['limit=+1', 1],
    ['limit=1.0', 1],
  ])('consumers?%s gives %i of three', async (query, count) => {
    const { text } = await call(`/v1/apps/${tenant.appId}/consumers?${query}`);
    expect((JSON.parse(text) as { data: unknown[] }).data).toHaveLength(count);
  });

  it('is the last of a repeated parameter, also where that is the bad one', async () => {
    const limit = parameter('listConsumers', 'limit');
    const path = `/v1/apps/${tenant.appId}/consumers?limit=1&limit=0`;
    await expectIssues(path, [expectedIssue(limit, REASONS.below(1), '0')]);
  });

  it.each(['endpoints', 'request-logs'])('%s: an empty method or path is no filter', async (resource) => {
    const whole = await call(`/v1/apps/${tenant.appId}/${resource}`);
    expect(await call(`/v1/apps/${tenant.appId}/${resource}?method=&path=`)).toMatchObject({
      status: 200,
      text: whole.text,
    });
  });

  it('is an integer far too large for any ID', async () => {
    for (const id of ['2147483648', '9223372036854775808', '9'.repeat(4300)]) {
      const filters = `app_env_id=${id}&consumer_id=${id}`;
      for (const resource of ['request-logs', 'traffic'])
        expect(await call(`/v1/apps/${tenant.appId}/${resource}?${filters}`)).toMatchObject({
          status: 200,
          text: '{"data":[],"has_more":false}',
        });
      expect(await call(`/v1/apps/${id}/traffic`)).toMatchObject({ status: 404 });
    }
  });
});

describe('the ends of time', () => {
  it.each([
    ['request-logs?end=9999-12-31T23:59:59.999999999Z', 3],
    ['request-logs?start=0001-01-01', 3],
    ['request-logs?start=0000-01-01T00:00%2B23:59&end=9999-12-31T23:59-23:59', 3],
    ['request-logs?start=0001-01-01&end=0001-01-02', 0],
    ['request-logs?start=9999-01-01&end=9999-01-02', 0],
    ['consumers?requests_since=0000-01-01', 3],
    ['consumers?requests_since=9999-12-31T23:59-23:59', 0],
    ['traffic?start=0000-01-01&end=9999-12-31&timezone=Asia/Kathmandu&interval=day', 1],
    ['traffic?start=9999-12-31&end=9999-12-31T23:59-23:59', 0],
    ['traffic?end=9999-12-31T23:59-23:59&interval=hour', 1],
  ])('%s gives %i', async (query, count) => {
    const { status, text } = await call(`/v1/apps/${tenant.appId}/${query}`);
    expect([status, (JSON.parse(text) as { data: unknown[] }).data.length]).toEqual([200, count]);
  });
});

describe('values that do not fit together', () => {
  const start = parameter('getTraffic', 'start');
  const token = parameter('getTraffic', 'next_token');

  it.each([
    ['start=2025-05-14&end=2025-05-14', '2025-05-14'],
    ['start=2025-05-15T00:00Z&end=2025-05-15T00:00:00.0009%2B00:00', '2025-05-15T00:00Z'],
    ['end=1970-01-01', null],
    ['start=2999-01-01', '2999-01-01'],
  ])('request-logs and traffic?%s: start must be before end', async (query, input) => {
    for (const resource of ['request-logs', 'traffic'])
      await expectIssues(`/v1/apps/${tenant.appId}/${resource}?${query}`, [
        expectedIssue(start, REASONS.startNotBeforeEnd, input),
      ]);
  });

  it('reports them beside the issues of other parameters, in the order of the table', async () => {
    const limit = parameter('getTraffic', 'limit');
    await expectIssues(
      `/v1/apps/${tenant.appId}/traffic?next_token=x&limit=0&end=2025-01-01&start=2025-01-01`,
      [
        expectedIssue(start, REASONS.startNotBeforeEnd, '2025-01-01'),
        expectedIssue(limit, REASONS.below(1), '0'),
        expectedIssue(token, REASONS.invalidToken, 'x'),
      ],
    );
  });

  it('rejects a token altered in any one character', async () => {
    const { next_token: good } = await tenant.consumers({ limit: 1 });
    const path = `/v1/apps/${tenant.appId}/consumers?limit=1&next_token=`;
    expect(await call(path + good!)).toMatchObject({ status: 200 });
    for (let at = 0; at < good!.length; at += 1) {
      const altered = good!.slice(0, at) + (good![at] === 'A' ? 'B' : 'A') + good!.slice(at + 1);
      await expectIssues(path + altered, [expectedIssue(token, REASONS.invalidToken, altered)]);
    }
  });
});
