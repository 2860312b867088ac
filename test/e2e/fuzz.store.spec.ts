import fc from 'fast-check';
import { TestApp } from '../setup/app.js';
import { check } from '../setup/conforms.js';
import { fill, operations } from '../setup/document.js';
import { type FuzzedRequest, arbitraryRequests, texts } from '../setup/fuzz.js';
import { MALICIOUS_INPUTS } from '../setup/malicious-inputs.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { Tenant } from '../setup/tenant.js';
import type { IssueBody } from '../setup/validation-errors.js';

/** Each run is a request for every operation. */
const RUNS = Number(process.env.FUZZ_RUNS ?? 20);
const IS_LONG = process.env.FUZZ_RUNS !== undefined;
const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
const METHODS = ['GET', 'POST', "O'NEIL", 'A"B', 'A\\B', '{X:STRING}', '%', '_', '--', 'É', '😀'];

let app: TestApp;
let tenant: Tenant;
let knownIds: Record<string, string[]>;
/** What was logged: a request for every malicious path, methods taking turns. */
let logged: { method: string; path: string }[];

beforeAll(async () => {
  process.stderr.write(`fuzz: FUZZ_SEED=${SEED} FUZZ_RUNS=${RUNS} repeats this run\n`);
  app = await TestApp.start();
  tenant = await Tenant.create(app);
  logged = [
    ...MALICIOUS_INPUTS,
    ...MALICIOUS_INPUTS.map((text) => `/users/${text}`),
    '/users',
    '/Users',
    '/users/',
  ].map((path, n) => ({
    method: METHODS[n % METHODS.length]!,
    path,
  }));
  const records = await tenant.write(
    ...logged.map((request) => ({ ...request, consumer: { identifier: request.path } })),
  );
  const { data } = await tenant.consumers({ limit: 3 });
  knownIds = {
    app_id: Array<string>(4).fill(String(tenant.appId)),
    app_env_id: [String(await tenant.envId('prod'))],
    consumer_id: data.map(({ id }) => String(id)),
    request_uuid: records.slice(0, 5).map(({ request_uuid }) => request_uuid),
  };
});

afterAll(async () => {
  closeConnections();
  await app.stop();
});

const call = (path: string) => sendRaw(app.url, path, { headers: { 'Api-Key': tenant.key } });

function buildTarget({ operation, values }: FuzzedRequest): string {
  const inPath = values.filter((value) => value.in === 'path').map(({ name, raw }) => [name, raw]);
  const query = values.filter((value) => value.in === 'query').map(({ name, raw }) => `${name}=${raw}`);
  return `${fill(operation.path, Object.fromEntries(inPath) as Record<string, string>)}?${query.join('&')}`;
}

/**
 * Sends one and checks the response: valid by the document, with an issue for each invalid value and no
 * other.
 */
async function checkResponse(request: FuzzedRequest): Promise<void> {
  const target = buildTarget(request);
  const response = await call(target);
  check(request.operation, response);
  expect([200, 404, 422]).toContain(response.status);
  const errors = response.status === 422 ? (JSON.parse(response.text) as { detail: IssueBody[] }).detail : [];
  const bad = request.values.filter(({ isValid }) => !isValid).map(({ name }) => name);
  const refused = errors
    .filter(({ msg }) => msg !== 'Value error, start must be before end')
    .map(({ loc }) => loc[1]);
  expect([target, refused]).toEqual([target, bad]);
}

it('serves every operation as documented, refuses what is invalid, and never fails', async () => {
  const requests = fc.tuple(...operations.map((operation) => arbitraryRequests(operation, knownIds)));
  await fc.assert(
    fc.asyncProperty(requests, async (some) => {
      await Promise.all(some.map(checkResponse));
    }),
    { numRuns: RUNS, seed: SEED },
  );
});

describe('a malicious text finds what it literally names, and nothing else', () => {
  const escaped = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  const matches = (pattern: string) => new RegExp(`^${pattern.split('*').map(escaped).join('[^]*')}$`, 'u');

  /** The `method` and `path` of what a filter finds, in order. */
  async function found(resource: string, filter: string, text: string) {
    const target = `/v1/apps/${tenant.appId}/${resource}?${filter}=${encodeURIComponent(text)}&limit=1000`;
    const { status, text: body } = await call(target);
    expect([target, status]).toEqual([target, 200]);
    const { data } = JSON.parse(body) as { data: { method: string; path: string }[] };
    return data.map(({ method, path }) => [method, path].join(' ')).sort();
  }

  /** Both resources give just those of what was logged. */
  async function expectFound(
    filter: string,
    text: string,
    isMeant: (request: { method: string; path: string }) => boolean,
  ) {
    const meant = logged
      .filter(isMeant)
      .map(({ method, path }) => [method, path].join(' '))
      .sort();
    for (const resource of ['endpoints', 'request-logs'])
      expect([text, await found(resource, filter, text)]).toEqual([text, meant]);
  }

  const byPath = (text: string) =>
    expectFound('path', text, ({ path }) => text === '' || matches(text).test(path));

  it.each(MALICIOUS_INPUTS.map((text, index) => [JSON.stringify(text), text, index] as const))(
    'path: %s',
    async (_, text, index) => {
      // In the short form, the texts take turns with the places of the wildcard.
      const patterns = [`/users/${text}`, `*${text}`, `${text}*`, `*${text}*`];
      for (const pattern of IS_LONG ? [text, ...patterns] : [text, patterns[index % patterns.length]!])
        await byPath(pattern);
    },
  );

  it('path: any of them in any mixture', async () => {
    const usable = texts().filter((text) => !text.includes('\0') && Array.from(text).length <= 1024);
    await fc.assert(fc.asyncProperty(usable, byPath), { numRuns: RUNS / 2, seed: SEED });
  });

  it.each([...METHODS, ...MALICIOUS_INPUTS].map((text) => [JSON.stringify(text), text]))(
    'method: %s',
    async (_, text) => {
      const items = text
        .split(',')
        .map((item) => item.trim().toUpperCase())
        .filter((item) => item !== '');
      await expectFound('method', text, ({ method }) => items.length === 0 || items.includes(method));
    },
  );
});
