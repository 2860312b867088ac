import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { buildSync } from '../collector/setup/messages.js';
import { startServer } from '../collector/setup/server.js';
import { type Prepared, dataDirectory, prepare } from '../setup/data-directory.js';
import { eventually } from '../setup/eventually.js';
import { ProductProcess } from '../setup/product-process.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { describeEmbedded } from '../setup/store.js';

const REQUESTS = 20;

/** A store of either kind. */
interface Place {
  env: NodeJS.ProcessEnv;
  remove(): unknown;
}

const PLACES: Record<string, () => Place | Promise<Place>> = {
  'the embedded engine': dataDirectory,
  'a server': async () => {
    const { server, env } = await startServer();
    return { env, remove: () => server.stop() };
  },
};

// Both kinds of store are made here, independent of the store of the other suites.
describeEmbedded.each(Object.keys(PLACES))('the log of requests, on %s', (kind) => {
  let place: Place;
  let prepared: Prepared;
  let service: ProductProcess;

  beforeAll(async () => {
    place = await PLACES[kind]!();
    prepared = await prepare(place.env, REQUESTS);
    service = await ProductProcess.start(['serve'], { ...place.env, METRICS_PORT: '' });
  });
  afterAll(async () => {
    expect(await service.stop()).toBe(0);
    await ProductProcess.endAll();
    await place.remove();
    closeConnections();
  });

  /** Asks, and gives the line that says so. */
  async function readLine(path: string, { key = prepared.key, method = 'GET' } = {}) {
    const id = randomUUID();
    const headers = { 'X-Request-Id': id, ...(key && { 'Api-Key': key }) };
    const { status } = await sendRaw(service.apiUrl, path, { method, headers });
    const line = await service.line(id);
    expect(line).toMatchObject({ level: status >= 500 ? 50 : 30, msg: 'request', method, status });
    expect(line.duration_ms).toEqual(expect.any(Number));
    expect(service.log.filter(({ request_id }) => request_id === id)).toHaveLength(1);
    return line;
  }

  it('says who asked what, how it ended, and what it read', async () => {
    const path = `/v1/apps/${prepared.appId}/request-logs`;
    const line = await readLine(`${path}?limit=100`);
    expect(line).toMatchObject({
      route: '/v1/apps/:app_id/request-logs',
      status: 200,
      team_id: prepared.teamId,
      key: prepared.key.slice(0, 7),
    });
    expect(line.rows_read).toBeGreaterThanOrEqual(REQUESTS);
    // More than a timestamp and a UUID of each.
    expect(line.bytes_read).toBeGreaterThan(REQUESTS * 24);
  });

  it('says which app, which consumer and which request were read with the key', async () => {
    const path = `/v1/apps/${prepared.appId}`;
    const { text } = await sendRaw(service.apiUrl, `${path}/request-logs?limit=1`, {
      headers: { 'Api-Key': prepared.key },
    });
    const { request_uuid } = JSON.parse(text).data[0] as { request_uuid: string };
    const read = { key: prepared.key.slice(0, 7), app_id: prepared.appId };
    expect(await readLine(`${path}/request-logs/${request_uuid}`)).toMatchObject({ ...read, request_uuid });
    for (const resource of ['request-logs', 'traffic'])
      expect(await readLine(`${path}/${resource}?consumer_id=7`)).toMatchObject({ ...read, consumer_id: 7 });
    expect(await readLine(`${path}/endpoints`)).toMatchObject(read);
    expect(await readLine(`/v1/apps/${prepared.appId + 2000}/endpoints`)).not.toHaveProperty('app_id');
  });

  it('says which app sent a message to the collector', async () => {
    const id = randomUUID();
    const send = (clientId: string) =>
      fetch(`${service.collectorUrl}/v2/${clientId}/prod/sync`, {
        method: 'POST',
        headers: { 'X-Request-Id': id },
        body: JSON.stringify(buildSync()),
      });
    expect((await send(prepared.clientId)).status).toBe(202);
    expect(await service.line(id)).toMatchObject({ status: 202, app_id: prepared.appId });
  });

  it('counts a look-up of the app as that of the request that made it; for a while it is remembered', async () => {
    const path = `/v1/apps/${prepared.appId + 1000}/endpoints`;
    const [first, second] = [await readLine(path), await readLine(path)];
    expect([first.status, second.status]).toEqual([404, 404]);
    expect(first.rows_read).toBeGreaterThan(second.rows_read as number);
  });

  it('reads nothing for what needs no store', async () => {
    expect(await readLine('/health/live', { key: '' })).toMatchObject({
      route: '/health/live',
      rows_read: 0,
      bytes_read: 0,
    });
    await readLine('/v1/team');
    expect(await readLine('/v1/team')).toMatchObject({ status: 200, rows_read: 0, bytes_read: 0 });
  });

  it.each(['/wp-login.php', '/v1/nothing', '/v1/team/', '/docs/../etc/passwd'])(
    'calls what no route took unmatched: %s',
    async (path) => {
      const line = await readLine(path);
      expect(line).toMatchObject({ route: 'unmatched', status: 404 });
    },
  );

  it('logs a client that disconnected before the response', async () => {
    const path = `/v1/apps/${prepared.appId}/request-logs`;
    // A fast response can be on its way before the connection ends.
    await eventually(async () => {
      const id = randomUUID();
      const headers = { 'X-Request-Id': id, 'Api-Key': prepared.key };
      const outgoing = request(service.apiUrl + path, { headers });
      outgoing.on('error', () => undefined).end();
      outgoing.once('finish', () => outgoing.destroy());
      return (await service.line(id)).client_closed === true;
    });
  });

  it('has no key, no query, no path and no body', async () => {
    const secret = randomUUID();
    await readLine(`/v1/apps/${prepared.appId}/endpoints?path=${secret}&api_key=${prepared.key}`);
    await readLine(`/${secret}`, { key: `${prepared.key.slice(0, 7)}.${'s'.repeat(32)}` });
    await readLine('/v1/team', { key: secret });
    for (const unwanted of [secret, prepared.key, 's'.repeat(32), 'Acme', 'SELECT'])
      expect(service.written).not.toContain(unwanted);
  });
});
