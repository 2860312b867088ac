import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LineSource } from '../files/line-source.js';
import type { ParsedRequest } from './parsed-request.js';
import { LineParser } from './request-format.js';

const fileAt = (path: string) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url));

interface Outcome {
  read: number;
  records: ParsedRequest[];
  rejected: Record<number, string>;
  ignored: Record<number, readonly string[]>;
}

async function readAll(file: string): Promise<Outcome> {
  const outcome: Outcome = { read: 0, records: [], rejected: {}, ignored: {} };
  const parser = new LineParser(undefined);
  for await (const batch of await LineSource.open(file))
    for (const { number, text } of batch) {
      const result = parser.parse(text ?? '');
      if (result === null) continue;
      outcome.read += 1;
      if ('record' in result) {
        outcome.records.push(result.record);
        if (result.ignored.length > 0) outcome.ignored[number] = result.ignored;
      } else outcome.rejected[number] = result.reason;
    }
  return outcome;
}

type Countable = 'method' | 'path' | 'status_code' | 'client_country_iso_code';

function countBy(records: readonly ParsedRequest[], member: Countable): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const record of records) counts[`${record[member]}`] = (counts[`${record[member]}`] ?? 0) + 1;
  return counts;
}

describe('the access log of our own', () => {
  it('gives its 29 requests and a reason for each of the 7 lines that are none', async () => {
    const { read, records, rejected } = await readAll(fileAt('test/fixtures/access_small.log'));
    expect(rejected).toEqual({
      22: 'request: must have the form METHOD target HTTP/version',
      23: 'request: there is none',
      24: 'line: must begin with host, identity, user, [time] and "request"',
      28: 'timestamp: must be a date and time from 1970 to 2099',
      29: 'line: status and size must follow the request',
      31: 'line: must begin with host, identity, user, [time] and "request"',
      38: 'request: its quote is not closed',
    });
    expect(read).toBe(36);
    expect(records.filter(({ excluded_from_logs }) => excluded_from_logs)).toHaveLength(7);
    expect(countBy(records, 'client_country_iso_code')).toEqual({ null: 21, US: 3, RU: 5 });
  });
});

describe('the NDJSON of our own', () => {
  it('gives its 16 requests, names three members that it left out, and a reason for each of the 6 lines that are none', async () => {
    const { read, records, rejected, ignored } = await readAll(fileAt('test/fixtures/requests_small.ndjson'));
    expect(Object.keys(rejected)).toEqual(['13', '14', '15', '16', '18', '22']);
    expect(ignored).toEqual({ 19: ['env'], 20: ['request_headers'], 21: ['trace_id'] });
    expect(read).toBe(22);
    expect(records.filter(({ excluded_from_logs }) => excluded_from_logs)).toHaveLength(3);
    expect(records.filter(({ captured_json: capture }) => capture !== '')).toHaveLength(2);
  });
});

const REAL = fileAt('../shared/data/access_2015-05.log.gz');
const describeReal = existsSync(REAL) ? describe : describe.skip;

describeReal('a real access log', () => {
  let outcome: Outcome;
  beforeAll(async () => {
    outcome = await readAll(REAL);
  });

  it('gives a request for every line', () => {
    expect(outcome.rejected).toEqual({});
    expect(outcome.read).toBe(10_000);
  });

  it('counts methods, status codes, clients and targets as they are known to be', () => {
    const { records } = outcome;
    expect(countBy(records, 'method')).toEqual({ GET: 9952, HEAD: 42, POST: 5, OPTIONS: 1 });
    expect(countBy(records, 'status_code')).toEqual({
      200: 9126,
      206: 45,
      301: 164,
      304: 445,
      403: 2,
      404: 213,
      416: 2,
      500: 3,
    });
    expect(new Set(records.map(({ client_ip }) => client_ip)).size).toBe(1753);
    expect(new Set(records.map(({ url }) => url)).size).toBe(1498);
  });

  it('lies within 17 to 20 May 2015, and knows the country of nearly all clients', () => {
    const { records } = outcome;
    const times = records.map(({ timestamp }) => timestamp);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(Date.UTC(2015, 4, 17));
    expect(Math.max(...times)).toBeLessThan(Date.UTC(2015, 4, 21));
    const unknown = records.filter(({ client_country_iso_code }) => client_country_iso_code === null);
    expect(unknown.length).toBeLessThan(100);
  });

  it('excludes from the logs exactly its static files, robots.txt and sitemap', () => {
    const excluded = outcome.records.filter(({ excluded_from_logs }) => excluded_from_logs);
    expect(countBy(excluded, 'path')).toEqual({
      '/*.css': 1459,
      '/*.gif': 184,
      '/*.gz': 8,
      '/*.ico': 808,
      '/*.jpeg': 4,
      '/*.jpg': 257,
      '/*.js': 250,
      '/*.png': 2331,
      '/*.svg': 22,
      '/*.ttf': 88,
      '/*.woff': 3,
      '/robots.txt': 180,
      '/sitemap.xml': 1,
    });
  });
});
