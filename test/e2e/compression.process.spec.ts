import { isDeepStrictEqual } from 'node:util';
import * as zlib from 'node:zlib';
import { SAMPLE_UUID, listOperations } from '../setup/all-operations.js';
import { TestApp } from '../setup/app.js';
import { dataDirectory, prepare } from '../setup/data-directory.js';
import { postFor } from '../setup/post-file.js';
import { ProductProcess } from '../setup/product-process.js';
import { closeConnections } from '../setup/raw-http.js';
import { describeEmbedded } from '../setup/store.js';
import { Tenant } from '../setup/tenant.js';

/** Only newer versions of Node.js have it; in others the test says so by its titles. */
const { zstdDecompressSync } = zlib as typeof zlib & { zstdDecompressSync?: typeof zlib.gunzipSync };
const ZSTD = zstdDecompressSync && 'zstd';
const DECODERS = {
  br: zlib.brotliDecompressSync,
  gzip: zlib.gunzipSync,
  deflate: zlib.inflateSync,
  ...(zstdDecompressSync && { zstd: zstdDecompressSync }),
};

/** Headers that describe the body of a response. */
const DESCRIBING = ['content-type', 'content-length', 'content-encoding', 'vary', 'etag', 'cache-control'];

describe('the compression of responses', () => {
  let app: TestApp;
  let tenant: Tenant;
  let uuid: string;
  const start = Date.now() - 3_600_000;

  beforeAll(async () => {
    app = await TestApp.start();
    tenant = await Tenant.create(app);
    await tenant.write(...Array.from({ length: 1_500 }, (_, index) => ({ timestamp: start + index })));
    const { data } = await get('request-logs?limit=1', 'identity');
    uuid = (data as [{ request_uuid: string }])[0].request_uuid;
  });

  afterAll(async () => {
    closeConnections();
    await app.stop();
  });

  const at = (resource: string) => `/v1/apps/${tenant.appId}/${resource}`;
  const get = async (resource: string, encoding: string) => {
    const response = await fetch(app.url + at(resource), {
      headers: { 'Api-Key': tenant.key, 'Accept-Encoding': encoding },
    });
    const { data } = (await response.json()) as { data: unknown };
    return { headers: response.headers, data };
  };
  const exported = (format: string, encoding: string) =>
    postFor(app.url, at('request-logs'), {
      headers: { 'Api-Key': tenant.key, ...(encoding !== '' && { 'Accept-Encoding': encoding }) },
      body: { since: new Date(start).toISOString(), format },
    });

  it.each([
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['gzip, br', 'br'],
    ['gzip;q=1, br;q=0', 'gzip'],
    ['deflate', 'deflate'],
    ['identity', null],
    ['zstd', ZSTD ?? null],
    ['gzip, deflate, br, zstd', ZSTD ?? 'br'],
    ['zstd;q=0.5, gzip', 'gzip'],
    ['zstd;q=0, gzip;q=0.1', 'gzip'],
  ])('is chosen by Accept-Encoding: %s gives %s', async (sent, chosen) => {
    const plain = await get('request-logs?limit=50', 'identity');
    const { headers, data } = await get('request-logs?limit=50', sent);
    expect([headers.get('content-encoding'), headers.get('vary')]).toEqual([chosen, 'Accept-Encoding']);
    expect(isDeepStrictEqual(data, plain.data)).toBe(true);
  });

  it.each(['identity', ...Object.keys(DECODERS), 'gzip, deflate, br, zstd', 'zstd;q=0.5, gzip'])(
    'is what HEAD says as GET does, for %s',
    async (encoding) => {
      const headers = { 'Api-Key': tenant.key, 'Accept-Encoding': encoding };
      const paths = [
        ...listOperations(tenant.appId).map((path) => path.replace(SAMPLE_UUID, uuid)),
        ...['/', '/docs/', '/docs/swagger-ui-bundle.js', '/openapi.json', '/llms.txt', '/health/live'],
        ...['/v1/apps/0/traffic', '/nothing'],
      ];
      for (const path of paths) {
        const [get, head] = await Promise.all(
          ['GET', 'HEAD'].map(async (method) => {
            const response = await fetch(app.url + path, { method, headers });
            await response.arrayBuffer();
            return { status: response.status, ...Object.fromEntries(response.headers) };
          }),
        );
        const described = ({ status, ...all }: Record<string, unknown>) => [
          status,
          ...DESCRIBING.map((name) => [name, all[name]]),
        ];
        expect([path, ...described(head!)]).toEqual([path, ...described(get!)]);
      }
    },
  );

  it('is left out below 1 KB, and says that it could be otherwise', async () => {
    const { headers } = await get('request-logs?limit=1', 'gzip');
    expect([headers.get('content-encoding'), headers.get('vary')]).toEqual([null, 'Accept-Encoding']);
    expect(Number(headers.get('content-length'))).toBeLessThan(1_024);
  });

  it.each(['ndjson', 'csv'])('is that of a whole export as well, as %s', async (format) => {
    const plain = await exported(format, '');
    expect(plain.headers).not.toHaveProperty('content-encoding');
    for (const [encoding, decode] of Object.entries(DECODERS)) {
      const { body, headers } = await exported(format, encoding);
      expect([headers['content-encoding'], headers['transfer-encoding']]).toEqual([encoding, 'chunked']);
      expect(body.length).toBeLessThan(plain.body.length / 3);
      expect(decode(body).equals(plain.body)).toBe(true);
    }
  });

  it.each(['arrow', 'parquet'])('is left out where the format has its own, as %s', async (format) => {
    const plain = await exported(format, '');
    const { body, headers } = await exported(format, 'gzip, br');
    expect(headers).not.toHaveProperty('content-encoding');
    expect(body.equals(plain.body)).toBe(true);
  });
});

// A process with the engine in it.
describeEmbedded('compressed responses of a process', () => {
  const place = dataDirectory();

  afterEach(() => ProductProcess.endAll());
  afterAll(place.remove);

  it('cause no warning of Node.js', async () => {
    const { key, appId } = await prepare(place.env, 200);
    const service = await ProductProcess.start(['serve'], place.env);
    const path = `/v1/apps/${appId}/request-logs`;
    for (const encoding of ['identity', ...Object.keys(DECODERS)]) {
      const headers = { 'Api-Key': key, 'Accept-Encoding': encoding };
      const page = await fetch(service.apiUrl + path, { headers });
      expect(((await page.json()) as { data: unknown[] }).data).toHaveLength(100);
      const { body } = await postFor(service.apiUrl, path, { headers, body: { format: 'csv' } });
      expect(body.length).toBeGreaterThan(0);
    }
    closeConnections();
    expect([await service.stop(), service.err]).toEqual([0, []]);
  });
});
