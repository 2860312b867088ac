import { readFileSync, readdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { TestApp } from '../setup/app.js';
import { REQUIRED_HEADERS, detail, seen } from '../setup/contract.js';
import { dataDirectory } from '../setup/data-directory.js';
import { ProductProcess } from '../setup/product-process.js';
import { closeConnections, sendRaw } from '../setup/raw-http.js';
import { BUNDLED } from '../supply-chain/packages.js';

/** Built by `npm test`. */
const BUILT = 'dist/dashboard';
const KIB = 1024;
const MAX_GZIP_BYTES = 120 * KIB;
const NOT_FOUND = { status: 404, text: detail('Not Found'), headers: REQUIRED_HEADERS };

const files = readdirSync(`${BUILT}/assets`);
const indexAt = async (app: TestApp) => sendRaw(app.url, '/');

describe('the dashboard at /', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await TestApp.start({ RATE_LIMIT_PER_MINUTE: '5' });
  });
  afterAll(async () => {
    closeConnections();
    await app.stop();
  });

  it('is a page that browsers ask for each time, with a policy that allows files of this server alone', async () => {
    const { status, headers, text } = await indexAt(app);
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'text/html; charset=utf-8',
      'no-cache',
    ]);
    const policy = String(headers['content-security-policy']).split(';');
    expect(policy).toEqual(expect.arrayContaining(["default-src 'self'", "frame-ancestors 'none'"]));
    expect(policy.join()).not.toMatch(/unsafe|data:|blob:|https?:|\*/);
    expect(text).not.toMatch(/<style|style=|<script(?![^>]* src="\.\/assets\/)|\son\w+=|https?:\/\//);
  });

  it('names its files relative to itself, so that it works below any path', async () => {
    const { text } = await indexAt(app);
    const named = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
    expect(named.sort()).toEqual(files.map((file) => `./assets/${file}`).sort());
  });

  it.each(files)('serves %s for ever, whole', async (file) => {
    const { status, headers, text } = await sendRaw(app.url, `/assets/${file}`);
    expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(file).toMatch(/-[\w-]{8}\.(?:js|css|svg)$/);
    expect(text).toBe(readFileSync(`${BUILT}/assets/${file}`, 'utf8'));
  });

  it.each(['/', `/assets/${files[0]}`])('serves HEAD of %s, and no other method', async (path) => {
    const [get, head] = [await sendRaw(app.url, path), await sendRaw(app.url, path, { method: 'HEAD' })];
    expect([head.status, head.text, seen(head).headers]).toEqual([
      200,
      '',
      { ...seen(get).headers, 'x-request-id': REQUIRED_HEADERS['x-request-id'] },
    ]);
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect(seen(await sendRaw(app.url, path, { method }))).toEqual({
        status: 405,
        text: detail('Method Not Allowed'),
        headers: { ...REQUIRED_HEADERS, allow: 'GET, HEAD' },
      });
  });

  it.each([
    '/assets',
    '/assets/',
    '/assets/nothing.js',
    '/assets/..%2findex.html',
    '/assets/..%2f..%2fmain.js',
    '/assets/%2e%2e%2flicences.md',
    `/assets/${files[0]}/`,
    '/index.html',
    '/licences.md',
    '/requests',
  ])('responds 404 to %s', async (path) => {
    expect(seen(await sendRaw(app.url, path))).toEqual(NOT_FOUND);
  });

  it('does not count against the key', async () => {
    const { key } = await app.team();
    for (let count = 0; count < 10; count++) {
      const { status, headers } = await sendRaw(app.url, '/', { headers: { 'Api-Key': key } });
      expect([status, headers['x-ratelimit-limit']]).toEqual([200, undefined]);
    }
    const { headers } = await app.get('/v1/team', key);
    expect(headers['x-ratelimit-remaining']).toBe('4');
  });

  it('logs its routes without names of files', async () => {
    await sendRaw(app.url, `/assets/${files[0]}`);
    expect(app.logged).toContain('"route":"/assets/:file"');
    expect(app.logged).not.toContain(files[0]);
  });
});

describe('DASHBOARD and DOCS', () => {
  it.each([
    { DASHBOARD: 'on', DOCS: 'on', status: 200, leads: undefined, hasReference: true },
    { DASHBOARD: 'on', DOCS: 'off', status: 200, leads: undefined, hasReference: false },
    { DASHBOARD: 'off', DOCS: 'on', status: 302, leads: '/docs', hasReference: false },
    { DASHBOARD: 'off', DOCS: 'off', status: 404, leads: undefined, hasReference: false },
  ])('$DASHBOARD and $DOCS', async ({ DASHBOARD, DOCS, status, leads, hasReference }) => {
    const app = await TestApp.start({ DASHBOARD, DOCS });
    const response = await indexAt(app);
    expect([response.status, response.headers.location]).toEqual([status, leads]);
    expect(response.text.includes('name="docs" content="on"')).toBe(hasReference);
    expect(response.text.includes('name="collector-port" content=""')).toBe(DASHBOARD === 'on');
    const file = await sendRaw(app.url, `/assets/${files[0]}`);
    expect(file.status).toBe(DASHBOARD === 'on' ? 200 : 404);
    await app.stop();
  });
});

it('tells the page the port of the collector that its process runs', async () => {
  const place = dataDirectory();
  const server = await ProductProcess.start(['serve'], place.env);
  const { text } = await sendRaw(server.apiUrl, '/');
  const { port } = new URL(server.collectorUrl);
  expect(text).toContain(`name="collector-port" content="${port}"`);
  closeConnections();
  await server.stop();
  place.remove();
});

it('has at most 120 KiB of files, compressed with gzip', () => {
  const bytes = [`${BUILT}/index.html`, ...files.map((file) => `${BUILT}/assets/${file}`)].map(
    (file) => gzipSync(readFileSync(file)).length,
  );
  const total = bytes.reduce((sum, size) => sum + size, 0);
  expect(total).toBeGreaterThan(20 * KIB);
  expect(total).toBeLessThan(MAX_GZIP_BYTES);
});

it('has the packages whose licences are listed, and their texts', () => {
  const text = readFileSync(`${BUILT}/licences.md`, 'utf8');
  expect([...text.matchAll(/^## (\S+) - /gm)].map(([, name]) => name)).toEqual(BUNDLED);
  expect(text.match(/Permission is hereby granted/g)).toHaveLength(BUNDLED.length);
});

it('has the address of Sentry, as a text that cannot end its attribute', async () => {
  const app = await TestApp.start({ SENTRY_URL: 'https://sentry.example.com/organizations/a"><b>$&/' });
  const { text } = await indexAt(app);
  closeConnections();
  await app.stop();
  expect(text).toContain(
    '<meta name="sentry-url" content="https://sentry.example.com/organizations/a%22%3E%3Cb%3E$&" />',
  );
});
