import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, type Server, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RecordBatchReader } from 'apache-arrow';
import createClient from 'openapi-fetch';
import type { paths } from '../../src/entry/dashboard/generated/schema.d.js';
import { readArrow } from '../setup/arrow.js';
import type { FailureMode } from '../setup/clickhouse-server/protocol.js';
import { queryCsv, queryNdjson, queryParquet } from '../setup/duckdb.js';
import { eventually } from '../setup/eventually.js';
import { postFor, postOnly } from '../setup/post-file.js';
import { Tenant } from '../setup/tenant.js';
import { OutageHarness } from './outage-harness.js';

/** How often each format is broken; more in a nightly run. */
const RUNS = Number(process.env.EXPORT_BREAK_RUNS ?? 3);
const FORMATS = ['ndjson', 'csv', 'arrow', 'parquet'] as const;
type Format = (typeof FORMATS)[number];
const ROWS = 6_000;
const PAGE = 'request_logs.export';
/** Pages of 1,000, of 4,000 and of what is left. */
const PAGES = 3;

interface Key {
  timestamp: string;
  request_uuid: string;
}

/** The whole rows of a response that broke off, as keys. */
function wholeRows(format: Format, bytes: Buffer): Key[] {
  if (format === 'parquet') return [];
  if (format === 'arrow') {
    const keys: Key[] = [];
    try {
      for (const batch of RecordBatchReader.from(bytes) as Iterable<{ toArray(): unknown[] }>)
        for (const row of batch.toArray() as { timestamp: number; request_uuid: string }[])
          keys.push({ timestamp: new Date(row.timestamp).toISOString(), request_uuid: row.request_uuid });
    } catch {
      // The batch that broke off.
    }
    return keys;
  }
  const lines = bytes
    .toString('utf8')
    .split(format === 'csv' ? '\r\n' : '\n')
    .slice(0, -1);
  if (format === 'ndjson') return lines.map((line) => getKey(JSON.parse(line) as Key));
  return lines.slice(1).map((line) => {
    const [timestamp = '', request_uuid = ''] = JSON.parse(`[${line.split(',', 2).join()}]`) as string[];
    return { timestamp, request_uuid };
  });
}

const getKey = ({ timestamp, request_uuid }: Key): Key => ({ timestamp, request_uuid });

/** Whether a reader of files takes the bytes for a whole file. */
async function passesForWhole(format: Format, bytes: Buffer): Promise<boolean> {
  try {
    if (format === 'ndjson') await queryNdjson(bytes, 'SELECT count() FROM rows');
    else if (format === 'csv') await queryCsv(bytes, 'SELECT count(client_country_iso_code) FROM rows');
    else if (format === 'arrow') readArrow(bytes);
    else await queryParquet(bytes, ['SELECT count() FROM rows']);
    return true;
  } catch {
    return false;
  }
}

/** Passes bytes between a client and the service; cuts the connection after `bytes` bytes of the response. */
async function cutAfter(base: string, bytes: number): Promise<{ url: string; close: () => void }> {
  const { hostname, port } = new URL(base);
  const server: Server = createServer((client) => {
    const service = connect(Number(port), hostname);
    let remaining = bytes;
    client.on('error', () => undefined).pipe(service.on('error', () => undefined));
    service.on('data', (chunk) => {
      const part = chunk.subarray(0, remaining);
      remaining -= part.length;
      if (remaining > 0) client.write(part);
      else client.end(part, () => service.destroy());
    });
    service.on('close', () => client.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

describe('an export that breaks off', () => {
  let harness: OutageHarness;
  let tenant: Tenant;
  let path: string;
  let keys: Key[];
  const sizes = new Map<Format, number>();
  const directory = mkdtempSync(join(tmpdir(), 'exports-'));
  const start = Date.now() - 86_400_000;
  const body = { since: new Date(start).toISOString(), until: new Date(start + 3_600_000).toISOString() };
  const headers = () => ({ 'Api-Key': harness.key });

  beforeAll(async () => {
    harness = await OutageHarness.start({ QUERY_TIMEOUT_SECONDS: '5' });
    tenant = await Tenant.create(harness.app);
    await tenant.write(
      ...Array.from({ length: ROWS }, (_, index) => ({ timestamp: start + Math.floor(index / 2) })),
    );
    path = `/v1/apps/${tenant.appId}/request-logs`;
    for (const format of FORMATS) {
      const whole = await postFor(harness.app.url, path, asked(format));
      sizes.set(format, whole.body.length);
      if (format === 'ndjson') keys = wholeRows(format, whole.body);
    }
    expect(keys).toHaveLength(ROWS);
  });

  afterEach(() => harness.store.heal());

  afterAll(async () => {
    rmSync(directory, { recursive: true });
    await harness.stop();
  });

  const asked = (format: Format, more: object = {}) => ({
    headers: { 'Api-Key': tenant.key },
    body: { ...body, format, ...more },
  });

  /** Runs curl, as a person would; its exit code and what it wrote. */
  const curl = async (base: string, format: Format, options: readonly string[] = []) => {
    const file = join(directory, `curl.${format}`);
    rmSync(file, { force: true });
    const args = ['-sS', '-o', file, '-H', `Api-Key: ${tenant.key}`, ...options];
    const code = await new Promise<number>((resolve) => {
      execFile('curl', [...args, '-d', JSON.stringify(asked(format).body), base + path], (error) => {
        resolve(error ? Number(error.code) : 0);
      });
    });
    return { code, bytes: existsSync(file) ? readFileSync(file) : Buffer.alloc(0) };
  };

  /** What a continuation behind the last whole row gives; all where none is whole. */
  const continued = async (format: Format, rows: readonly Key[]) => {
    const after = rows.at(-1);
    const rest = await postFor(harness.app.url, path, asked(format, after && { after }));
    expect(rest.status).toBe(200);
    return format === 'parquet'
      ? (
          await queryParquet(rest.body, [
            "SELECT strftime(timestamp, '%Y-%m-%dT%H:%M:%S.%gZ'), request_uuid FROM rows",
          ])
        ).map(([timestamp, request_uuid]) => ({ timestamp, request_uuid }))
      : wholeRows(format, rest.body);
  };

  const STORE_FAULTS: readonly FailureMode[] = [
    { kind: 'exception', code: 210 },
    { kind: 'reset' },
    { kind: 'exception-in-body', code: 210, form: 'tagged' },
  ];

  it.each(FORMATS)('is whole to no client when the store fails at any page, as %s', async (format) => {
    for (let run = 0; run < RUNS; run++) {
      const failure = STORE_FAULTS[run % STORE_FAULTS.length]!;
      // A connection that is reset is tried a second time.
      await harness.store.fail(failure, { on: PAGE, skip: 1 + (run % (PAGES - 1)), times: 2 });
      const broken = await curl(harness.app.url, format);
      await harness.store.heal();
      expect(broken.code).not.toBe(0);
      expect(await passesForWhole(format, broken.bytes)).toBe(false);
      const rows = wholeRows(format, broken.bytes);
      expect(rows.length).toBeLessThan(ROWS);
      expect([...rows, ...(await continued(format, rows))]).toEqual(keys);
    }
  });

  it.each(FORMATS)('is whole to no client when the connection is cut anywhere, as %s', async (format) => {
    for (let run = 0; run < RUNS; run++) {
      const proxy = await cutAfter(harness.app.url, randomInt(400, sizes.get(format)!));
      const broken = await curl(proxy.url, format);
      expect(broken.code).not.toBe(0);
      const rows = wholeRows(format, broken.bytes);
      expect([...rows, ...(await continued(format, rows))]).toEqual(keys);
      await expect(postFor(proxy.url, path, asked(format))).rejects.toThrow();
      const client = createClient<paths>({ baseUrl: proxy.url, headers: headers() });
      const params = { path: { app_id: tenant.appId } };
      const sent = { params, body: { ...body, format }, parseAs: 'arrayBuffer' } as const;
      await expect(
        client.POST('/v1/apps/{app_id}/request-logs', {
          ...sent,
          headers: { 'Api-Key': tenant.key, 'Accept-Encoding': 'identity' },
        }),
      ).rejects.toThrow();
      proxy.close();
    }
  });

  it('is whole to no client of HTTP/1.0, whose bodies end with the connection', async () => {
    for (const format of FORMATS) {
      await harness.store.fail({ kind: 'reset' }, { on: PAGE, skip: 1, times: 2 });
      expect((await curl(harness.app.url, format, ['--http1.0'])).code).not.toBe(0);
      await harness.store.heal();
    }
    const whole = await curl(harness.app.url, 'ndjson', ['--http1.0']);
    expect([whole.code, wholeRows('ndjson', whole.bytes)]).toEqual([0, keys]);
  });

  it.each(['gzip', 'br'])('is whole to no client that takes %s', async (encoding) => {
    for (const format of ['ndjson', 'csv'] as const) {
      await harness.store.fail({ kind: 'reset' }, { on: PAGE, skip: 1, times: 2 });
      const options = ['--compressed', '-H', `Accept-Encoding: ${encoding}`];
      expect((await curl(harness.app.url, format, options)).code).not.toBe(0);
      await harness.store.heal();
      const whole = await curl(harness.app.url, format, options);
      expect([whole.code, wholeRows(format, whole.bytes)]).toEqual([0, keys]);
    }
  });

  it('is an error like any other before its first byte', async () => {
    await harness.store.fail({ kind: 'reset' }, { on: PAGE });
    for (const format of FORMATS) {
      const { status, body: text } = await postFor(harness.app.url, path, asked(format));
      expect([status, text.toString()]).toEqual([503, '{"detail":"Service temporarily unavailable"}']);
    }
  });

  it('reads a page that is too large in smaller ones', async () => {
    await harness.store.fail({ kind: 'exception', code: 396 }, { on: PAGE, skip: 1, times: 2 });
    await harness.store.fail({ kind: 'exception', code: 241 }, { on: PAGE, skip: 1, times: 1 });
    const { body: bytes } = await postFor(harness.app.url, path, asked('ndjson'));
    expect(wholeRows('ndjson', bytes)).toEqual(keys);
  });

  describe('with a client that reads nothing', () => {
    let large: Tenant;
    const rows = 3_000;

    beforeAll(async () => {
      large = await Tenant.create(harness.app);
      const url = `https://x/${'y'.repeat(10_000)}`;
      for (let part = 0; part < 3; part++)
        await large.write(
          ...Array.from({ length: rows / 3 }, (_, index) => ({
            timestamp: start + part * 1_000 + index,
            url,
          })),
        );
    });

    const open = () =>
      postOnly(harness.app.url, `/v1/apps/${large.appId}/request-logs`, {
        headers: { 'Api-Key': large.key },
        body,
      });
    const pagesRead = async () => (await harness.store.queries()).filter(({ name }) => name === PAGE).length;

    it('reads no further than the socket takes, two at once for a key, and stops when the client leaves', async () => {
      const before = await pagesRead();
      const [first, second] = [await open(), await open()];
      const third = await open();
      expect([first.statusCode, second.statusCode, third.statusCode]).toEqual([200, 200, 429]);
      expect(third.headers['retry-after']).toBe('1');
      third.resume();
      const traces = await postFor(harness.app.url, `/v1/apps/${large.appId}/traces`, {
        headers: { 'Api-Key': large.key },
        body,
      });
      expect([traces.status, traces.headers['retry-after']]).toEqual([429, '1']);
      // What a busy machine may still read in the meantime would go on to the last page.
      await postFor(harness.app.url, path, asked('ndjson'));
      expect((await pagesRead()) - before - PAGES).toBeLessThan(6);
      first.destroy();
      await eventually(async () => {
        const again = await open();
        again.destroy();
        return again.statusCode === 200;
      });
      second.destroy();
      await eventually(async () => {
        const [first, second] = [await open(), await open()];
        first.destroy();
        second.destroy();
        return first.statusCode === 200 && second.statusCode === 200;
      });
    });
  });

  it('503 for more exports than the process runs at once, where each is of another team', async () => {
    const tenants: Tenant[] = [];
    for (let count = 0; count < 5; count += 1) tenants.push(await Tenant.create(harness.app));
    const last = tenants.pop()!;
    await harness.store.fail({ kind: 'hang' }, { on: PAGE });
    const statuses: Promise<number | undefined>[] = [];
    for (const tenant of tenants)
      statuses.push(
        postOnly(harness.app.url, `/v1/apps/${tenant.appId}/request-logs`, {
          headers: { 'Api-Key': tenant.key },
          body,
        }).then(({ statusCode }) => statusCode),
      );
    await eventually(async () => {
      const running = (await harness.store.queries()).filter(
        ({ name, outcome }) => name === PAGE && outcome === 'running',
      );
      return running.length === 4;
    });
    const { status } = await postFor(harness.app.url, `/v1/apps/${last.appId}/request-logs`, {
      headers: { 'Api-Key': last.key },
      body,
    });
    expect(status).toBe(503);
    expect(await Promise.all(statuses)).toEqual([504, 504, 504, 504]);
  });
});
