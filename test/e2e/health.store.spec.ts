import { PRODUCT_VERSION } from '../../src/config/version.js';
import { TestApp } from '../setup/app.js';
import { eventually } from '../setup/eventually.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { RedisServer, describeWithRedisServer } from '../setup/redis.js';

const VERSIONS = { version: PRODUCT_VERSION, node: process.versions.node };

let app: TestApp;

afterEach(() => app.stop());
afterAll(closeConnections);

async function health(probe: 'live' | 'ready') {
  const { status, headers, text } = await sendRaw(app.url, `/health/${probe}`);
  expect(headers['cache-control']).toBe('no-store');
  return [status, JSON.parse(text)] as [number, Record<string, unknown>];
}

describe('health', () => {
  it('returns versions and states, and nothing else', async () => {
    app = await TestApp.start();
    expect(await health('live')).toEqual([200, { status: 'ok', ...VERSIONS }]);
    expect(await health('ready')).toEqual([
      200,
      {
        status: 'ok',
        ...VERSIONS,
        store: app.store.kind,
        engine: expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/),
        state: { store: 'ok', redis: 'not configured' },
      },
    ]);
  });

  it('is live and not ready while the store is away', async () => {
    app = await TestApp.start();
    await app.store.close();
    expect((await health('live'))[0]).toBe(200);
    expect(await health('ready')).toEqual([503, { detail: 'Service temporarily unavailable' }]);
  });
});

describeWithRedisServer('health with Redis', () => {
  it('is degraded, and ready, while Redis is away', async () => {
    const redis = await RedisServer.start();
    app = await TestApp.start({ REDIS_URL: redis.url });
    expect(await health('ready')).toMatchObject([200, { status: 'ok', state: { redis: 'ok' } }]);
    await redis.kill();
    const away = await health('ready');
    expect(away).toMatchObject([
      200,
      { store: app.store.kind, state: { store: 'ok', redis: 'unavailable' } },
    ]);
    expect(JSON.stringify(away)).not.toContain('127.0.0.1');
    await redis.launch();
    await eventually(async () => (await health('ready'))[1].status === 'ok');
    redis.freeze();
    expect(await health('ready')).toMatchObject([200, { status: 'degraded' }]);
    redis.thaw();
    await redis.stop();
  });
});
