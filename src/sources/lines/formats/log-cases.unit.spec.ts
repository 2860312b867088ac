import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LineSource } from '../files/line-source.js';
import type { ParseOptions } from './parsed-request.js';
import { LineParser } from './request-format.js';

const CASES = fileURLToPath(new URL('../../../../test/fixtures/access-logs/cases', import.meta.url));

interface Outcome {
  format: string | undefined;
  /** A request, or the reason why a line is none. */
  lines: (string | Record<string, unknown>)[];
}

async function readCase(name: string, options: ParseOptions): Promise<Outcome> {
  const parser = new LineParser(undefined, options);
  const lines: Outcome['lines'] = [];
  for await (const batch of await LineSource.open(`${CASES}/${name}`))
    for (const { text } of batch) {
      const result = parser.parse(text ?? '');
      if (result === null) continue;
      if ('reason' in result) lines.push(result.reason);
      else {
        const { captured_json, timestamp, consumer, ...record } = result.record;
        const captured = (captured_json === '' ? {} : JSON.parse(captured_json)) as Record<string, unknown>;
        lines.push({
          ...record,
          timestamp: new Date(timestamp).toISOString(),
          consumer: consumer?.identifier ?? null,
          request_headers: captured.request_headers ?? [],
          ignored: result.ignored,
        });
      }
    }
  return { format: parser.format, lines };
}

const AT = '2026-11-26T08:15:02.000Z';
const PUBLIC = '8.8.8.8';
const CLIENT = '198.51.100.7';
const CURL = [['user-agent', 'curl/8']];

/** Inputs of the form of public bug reports and test files, with what each must give. */
const EXPECTED: Readonly<Record<string, readonly [format: string | undefined, ...lines: Outcome['lines']]>> =
  {
    '03-syslog-prefix.log': [
      'combined',
      { timestamp: AT, url: '/a', client_ip: PUBLIC, client_country_iso_code: 'US', consumer: 'bob' },
      { timestamp: '2026-11-06T08:15:02.000Z', url: '/a', client_ip: PUBLIC, consumer: 'bob' },
      { timestamp: AT, url: '/b', client_ip: PUBLIC, consumer: 'bob', request_headers: CURL },
      { timestamp: AT, url: '/c', client_ip: PUBLIC, consumer: 'bob', request_headers: CURL },
    ],
    '05-address-list.log': [
      'combined',
      { url: '/list', client_ip: PUBLIC, consumer: 'bob' },
      { url: 'http://api.example.com/vlist', client_ip: PUBLIC, consumer: 'bob' },
      { url: 'http://api.example.com/qlist', client_ip: PUBLIC, consumer: 'bob' },
    ],
    '07-xff-named.log': ['combined', { url: '/named', client_ip: PUBLIC, request_headers: CURL }],
    '08-column-after-size.log': [
      'combined',
      { url: '/n2', excluded_from_logs: true, response_size_bytes: 612 },
      {
        url: '/n3',
        excluded_from_logs: false,
        client_ip: PUBLIC,
        request_headers: [
          ['user-agent', 'Mozilla/5.0'],
          ['referer', 'https://ref.example/'],
        ],
      },
    ],
    '11-imperva-w3c.log': [
      'w3c',
      { path: '/page.php', url: 'http://www.example.com/page.php?variable=test', request_size_bytes: 10_117 },
    ],
    '12-iis-advanced.log': [
      'w3c',
      {
        timestamp: '2026-11-26T08:15:02.363Z',
        url: 'http://api.example.com/x',
        client_ip: PUBLIC,
        response_time_ms: 109,
      },
    ],
    '13-iis-nul-padding.log': [
      'w3c',
      { url: '/api/x?id=1', status_code: 200, response_time_ms: 46 },
      { url: '/api/y', status_code: 500, client_ip: PUBLIC },
    ],
    '13-nul-block.log': [
      'combined',
      ...[1, 2, 3, 4, 5, 6].map((number) => ({ url: `/nul/x${number}`, client_ip: PUBLIC })),
    ],
    '15-nginx-unquoted.json.log': [
      'nginx',
      { url: '/ok', status_code: 200, response_time_ms: 21 },
      { url: '/static', status_code: 499, response_time_ms: 21 },
      { url: '/retried', status_code: 502, response_time_ms: 21 },
    ],
    '17-proto-list.json.log': [
      'nginx',
      { url: 'https://api.example.com/b' },
      { url: 'https://api.example.com/c', timestamp: '2026-11-26T08:15:02.418Z' },
    ],
    '18-server-name.json.log': ['nginx', { url: '/k' }],
    '19-caddy-status-0.json.log': ['caddy', { status_code: 200, response_size_bytes: 0, client_ip: PUBLIC }],
    '20-csv-formula.log': ['combined', { url: '/=HYPERLINK("http://evil.example/","x")', status_code: 400 }],
    '21-empty-user.log': ['combined', { url: '/empty-user', consumer: null, status_code: 401 }],
    '22-first-bracket.log': [
      'haproxy',
      'line: is of the error log of Apache, not a request',
      { timestamp: '2026-11-26T08:48:57.127Z', url: '/x', client_ip: PUBLIC, response_time_ms: 173 },
    ],
    '31-haproxy.log': [
      'haproxy',
      ...[1, 2].map(() => ({
        timestamp: '2026-11-26T08:15:02.417Z',
        method: 'POST',
        path: '/user/',
        status_code: 200,
        client_ip: CLIENT,
        response_time_ms: 72,
        response_size_bytes: 7_456,
      })),
    ],
    '32-envoy-text.log': [
      'envoy',
      {
        timestamp: '2026-11-26T08:15:02.310Z',
        method: 'POST',
        url: 'http://locations/api/v1/locations',
        status_code: 204,
        request_size_bytes: 154,
        response_size_bytes: 0,
        response_time_ms: 226,
        client_ip: CLIENT,
      },
      {
        url: 'http://httpbin:8000/status/418',
        status_code: 418,
        response_size_bytes: 135,
        response_time_ms: 4,
        client_ip: '10.44.1.23',
      },
    ],
    '33-docker-json-file.log': [
      'combined',
      { timestamp: AT, url: '/a', client_ip: CLIENT, request_headers: CURL },
    ],
    '35-s3.log': [
      's3',
      {
        url: '/bucket/index',
        response_size_bytes: 368,
        response_time_ms: 10,
        consumer: 'arn:aws:iam::1:user/x',
      },
    ],
    '36-cloudflare.json.log': [
      'cloudflare',
      {
        timestamp: '2026-11-26T08:15:01.000Z',
        url: 'http://api.example.com/v1/x',
        status_code: 301,
        response_size_bytes: 570,
        // Of two times in whole seconds, the difference is no time.
        response_time_ms: null,
        client_ip: CLIENT,
      },
    ],
    '38-apigw.json.log': [
      'apigateway',
      {
        timestamp: AT,
        path: '/pets/{id}',
        is_path_inferred: false,
        status_code: 200,
        response_size_bytes: 41,
      },
    ],
    '39-nginx-proxy-manager.log': [
      'nginx-proxy-manager',
      { timestamp: AT, url: 'https://api.example.com/v1/x', response_size_bytes: 192, client_ip: CLIENT },
    ],
    '41-google-lb.json.log': [
      'gcp',
      {
        timestamp: '2026-11-26T08:15:02.100Z',
        url: 'https://api.example.com/v1/x',
        request_size_bytes: 120,
        response_size_bytes: 570,
        response_time_ms: 21,
        client_ip: CLIENT,
        request_headers: CURL,
      },
    ],
    '42-azure-appgw.json.log': [
      'azure',
      {
        timestamp: AT,
        url: 'http://api.example.com/v1/x',
        response_time_ms: 21,
        response_size_bytes: 570,
        client_ip: CLIENT,
      },
    ],
    '43-cloudfront-noheader.log': [
      'cloudfront',
      {
        timestamp: AT,
        url: 'https://api.example.com/a',
        request_size_bytes: 217,
        response_size_bytes: 182,
        response_time_ms: 1,
        request_headers: CURL,
      },
    ],
    '43-cloudfront.json.log': [
      'cloudfront',
      { timestamp: AT, url: 'http://d1.cloudfront.net/a', response_time_ms: 1, request_headers: CURL },
    ],
    '45-ecs.json.log': ['ecs', { timestamp: AT, url: '/a', response_size_bytes: 12, client_ip: CLIENT }],
    '45-pino.json.log': [
      'pino',
      { timestamp: '2026-11-26T08:15:02.425Z', url: '/v1/x', response_time_ms: 5, client_ip: CLIENT },
    ],
    '46-gin.log': ['gin', { timestamp: AT, url: '/a', response_time_ms: 1, client_ip: CLIENT }],
    '46-uvicorn.log': [
      undefined,
      expect.stringContaining('timestamp: is missing; the line must have a time around it'),
    ],
    '46-werkzeug.log': ['combined', { timestamp: AT, url: '/a', client_ip: CLIENT }],
    '47-heroku.log': [
      undefined,
      expect.stringContaining('timestamp: is missing; the line must have a time around it'),
    ],
    '48-squid.log': [
      'squid',
      {
        timestamp: '2026-11-26T08:15:02.417Z',
        url: 'http://api.example.com/a',
        response_time_ms: 21,
        response_size_bytes: 570,
        client_ip: CLIENT,
      },
    ],
    '50-cdn-edge.log': ['combined', { url: '/cf', client_ip: '162.158.62.29' }],
  };

describe('cases of public bug reports', () => {
  it('are all expected here', () => {
    expect(readdirSync(CASES).sort()).toEqual(Object.keys(EXPECTED).sort());
  });

  it.each(Object.entries(EXPECTED))('reads %s', async (name, [format, ...lines]) => {
    const outcome = await readCase(name, { consumerFrom: 'user' });
    expect(outcome).toMatchObject({ format, lines });
    for (const line of outcome.lines) if (typeof line !== 'string') expect(line.ignored).toEqual([]);
  });

  it('takes what proxies named for the client of a public one, if it may', async () => {
    const { lines } = await readCase('50-cdn-edge.log', { trustForwarded: true });
    expect(lines).toMatchObject([{ client_ip: PUBLIC, client_country_iso_code: 'US' }]);
  });
});
