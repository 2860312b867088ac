import { randomUUID } from 'node:crypto';
import { TestApp } from '../setup/app.js';
import { type HttpResponse, check } from '../setup/conforms.js';
import { type Operation, fill, operations } from '../setup/document.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { Tenant } from '../setup/tenant.js';

/** Stands in every text of the foreigner's data. */
const MARK = 'of-the-other';
const CAPTURE = JSON.stringify({
  request_headers: [['x-secret', MARK]],
  response_headers: [],
  request_body_json: `"${MARK}"`,
  response_body_json: null,
  trace_id: null,
  exception: { type: MARK, message: MARK, stacktrace: MARK, tracker_event_id: null, sentry_event_id: null },
  logs: [],
  spans: [],
});

/** Parameters that identify data of an app: a value of another app, and one that does not exist. */
interface Identifiers {
  app_id: string;
  request_uuid: string;
  app_env_id: string;
  consumer_id: string;
}
type NamedValue = keyof Identifiers | 'next_token';

const NOBODYS: Identifiers = {
  app_id: '2000000000',
  request_uuid: randomUUID(),
  app_env_id: '2000000001',
  consumer_id: '2000000002',
};

let app: TestApp;
let owner: Tenant;
let ids: Identifiers;
/** Another team, and another app of the same team. */
const others: Record<string, { tenant: Tenant; ids: Identifiers }> = {};

async function fillWith(tenant: Tenant, mark: string): Promise<Identifiers> {
  const consumer = { identifier: mark, name: mark, group: mark };
  const some = {
    env: mark,
    path: `/${mark}`,
    url: `https://example.com/${mark}`,
    consumer,
    captured_json: CAPTURE,
  };
  const hour = 3_600_000;
  const records = await tenant.write(
    ...[1, 2, 3].map((n) => ({
      ...some,
      timestamp: Date.now() - n * hour,
      consumer: { ...consumer, identifier: `${mark}-${n}` },
    })),
    ...[1, 2].map((n) => ({
      ...some,
      timestamp: Date.now() - n * hour,
      consumer: { ...consumer, identifier: `${mark}-3` },
    })),
  );
  const app_env_id = await tenant.envId(mark);
  const report = { app_id: tenant.appId, timestamp: Date.now(), app_env_id };
  const reports = [1, 2].map((n) =>
    JSON.stringify({ ...report, instance_uuid: randomUUID(), app_version: `${mark}-${n}` }),
  );
  await app.store.insert('instance_reports', reports);
  const place = { app: tenant.appId };
  await app.alerts.create(place, mark, { metric: 'requests', env: mark }, { email: `${mark}@example.com` });
  return {
    app_id: String(tenant.appId),
    request_uuid: records[0]!.request_uuid,
    app_env_id: String(app_env_id),
    consumer_id: String(await tenant.consumerId(`${mark}-3`)),
  };
}

beforeAll(async () => {
  app = await TestApp.start();
  owner = await Tenant.create(app);
  ids = await fillWith(owner, 'of-our-own');
  const sibling = await owner.sibling();
  const stranger = await Tenant.create(app);
  others['another team'] = { tenant: stranger, ids: await fillWith(stranger, MARK) };
  others['another app of the team'] = { tenant: sibling, ids: await fillWith(sibling, MARK) };
});

afterAll(async () => {
  closeConnections();
  await app.stop();
});

type Values = Readonly<Partial<Record<NamedValue, string>>>;

/** Asks with a key and one value for each name; what is not given is ours, or left out of the query. */
async function call(operation: Operation, key: string, values: Values): Promise<HttpResponse> {
  const query = operation.parameters
    .filter(({ in: place, name }) => place === 'query' && values[name as NamedValue] !== undefined)
    .map(({ name }) => `${name}=${values[name as NamedValue]}`);
  // Names that another team would recognize.
  if (operation.parameters.some(({ name }) => name === 'field')) query.push('field=consumer');
  const path = fill(operation.path, { ...ids, ...values });
  const response = await sendRaw(app.url, `${path}?limit=1&${query.join('&')}`, {
    headers: { 'Api-Key': key },
  });
  check(operation, response);
  return response;
}

/** Headers that differ between any two requests. */
const PASSING = {
  date: '',
  ratelimit: '',
  'x-request-id': '',
  'x-ratelimit-remaining': '',
  'x-ratelimit-reset': '',
  'content-length': '',
};

/** All of a response but what passes; a token that was refused stands in it as it was sent. */
function comparable({ status, headers, text }: HttpResponse, { next_token = '<none>' }: Values) {
  return { status, text: text.replace(next_token, '<token>'), headers: { ...headers, ...PASSING } };
}

function subsets<Item>(items: readonly Item[]): Item[][] {
  return items.reduce<Item[][]>((all, item) => [...all, ...all.map((some) => [...some, item])], [[]]);
}

const isNamed = (name: string): name is NamedValue => name === 'next_token' || Object.hasOwn(NOBODYS, name);
const listNames = ({ parameters }: Operation) => parameters.map(({ name }) => name).filter(isNamed);

/** Every operation with every way to name something foreign in it. */
const buildMatrix = (foreign: readonly NamedValue[]) =>
  operations.flatMap((operation) =>
    subsets(listNames(operation).filter((name) => foreign.includes(name)))
      .filter((names) => names.length > 0)
      .map((names) => [operation.id, names.join(', '), operation, names] as const),
  );
const INSIDE_AN_APP: NamedValue[] = ['request_uuid', 'app_env_id', 'consumer_id', 'next_token'];

it('knows every parameter that names something', () => {
  const all = operations.flatMap(({ parameters }) => parameters.map(({ name }) => name));
  const identifying = all.filter((name) => /^(?!include_).*(_id|_uuid|_token)$/.test(name));
  expect(identifying.every(isNamed)).toBe(true);
  expect(new Set(identifying)).toEqual(new Set([...Object.keys(NOBODYS), 'next_token']));
});

describe.each<[string, NamedValue[]]>([
  ['another team', ['app_id', ...INSIDE_AN_APP]],
  // Which the key may read: only what is inside belongs nowhere else.
  ['another app of the team', INSIDE_AN_APP],
])('what is of %s', (whose, names) => {
  /** A token that is good for the other, of the same query. */
  async function foreignToken(operation: Operation, values: Values): Promise<string> {
    const { tenant, ids } = others[whose]!;
    const { text } = await call(operation, tenant.key, { ...values, app_id: ids.app_id });
    return (JSON.parse(text) as { next_token?: string }).next_token ?? '';
  }

  it.each(buildMatrix(names))('%s: %s looks like nothing', async (_id, _names, operation, names) => {
    const other = others[whose]!;
    const pick = (from: Identifiers): Record<string, string> =>
      Object.fromEntries(names.flatMap((name) => (name === 'next_token' ? [] : [[name, from[name]]])));
    const [foreign, absent] = [pick(other.ids), pick(NOBODYS)];
    if (names.includes('next_token')) {
      const token = await foreignToken(operation, { ...foreign, app_id: other.ids.app_id });
      expect(token).not.toBe('');
      Object.assign(foreign, { next_token: token });
      Object.assign(absent, { next_token: token.replace(/^./, (first) => (first === 'x' ? 'y' : 'x')) });
    }
    const [seen, nothing] = [
      await call(operation, owner.key, foreign),
      await call(operation, owner.key, absent),
    ];
    expect(comparable(seen, foreign)).toEqual(comparable(nothing, absent));
    expect(seen.text).not.toContain(MARK);
  });

  it('is there for the one it belongs to, so that this says something', async () => {
    const { tenant, ids } = others[whose]!;
    for (const operation of operations) {
      const { status, text } = await call(operation, tenant.key, ids);
      expect([operation.id, status]).toEqual([operation.id, 200]);
      if (operation.parameters.length > 0 && operation.id !== 'getTraffic') expect(text).toContain(MARK);
    }
  });
});

it('no response has data of another team, for any parameter of our own app', async () => {
  const { key, appId } = await Tenant.create(app);
  for (const operation of operations)
    for (const app_id of [appId, ...Object.values(others).map(({ ids }) => ids.app_id)]) {
      const { text } = await call(operation, key, { app_id: String(app_id) });
      expect(text).not.toContain(MARK);
    }
});
