import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

const SPAN_MS = 2 * 86_400_000;
const CHUNK = 1_000;
/** One line in `CAPTURED_EACH` has headers, a body, a log record and a span. */
const CAPTURED_EACH = 10;
const CONSUMERS = 20_000;
/** Of each consumer. */
const ADDRESSES = 3;
const METHODS = ['GET', 'POST', 'GET', 'PATCH', 'DELETE'];
const AGENTS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
  'curl/8.14.1',
  'python-requests/2.32.5',
];
const BODY = JSON.stringify({
  items: Array.from({ length: 12 }, (_, index) => ({
    sku: `SKU-${index}`,
    name: 'blue widget',
    quantity: index,
  })),
});

/**
 * How a request is written: as NDJSON, with a random UUID of the sender, in the combined format, or what a
 * shipper makes of that for a database of logs.
 */
const FORMATS = { ndjson: line, uuid: lineWithUuid, combined: combinedLine, jsonline: parsedLine };

/**
 * Writes requests of the last two days, oldest first; the bytes written. NDJSON has the shape of Request
 * Details.
 */
export async function writeLines(
  file: string,
  count: number,
  format: keyof typeof FORMATS = 'ndjson',
): Promise<number> {
  const output = createWriteStream(file);
  const from = Date.now() - SPAN_MS;
  const step = SPAN_MS / count;
  for (let start = 0; start < count; start += CHUNK) {
    const length = Math.min(CHUNK, count - start);
    const lines = Array.from({ length }, (_, index) =>
      FORMATS[format](start + index, from + (start + index) * step),
    );
    if (!output.write(`${lines.join('\n')}\n`)) await once(output, 'drain');
  }
  output.end();
  await finished(output);
  return output.bytesWritten;
}

function line(nth: number, timestamp: number): string {
  return toNdjson(nth, timestamp, {});
}

function lineWithUuid(nth: number, timestamp: number): string {
  return toNdjson(nth, timestamp, { request_uuid: randomUUID() });
}

/** What every format has of the nth request. */
function pick(nth: number) {
  const random = (salt: number) => hash(nth * 16 + salt);
  const endpoint = Math.floor(195 ** random(1));
  const consumer = Math.floor(CONSUMERS ** random(2));
  return {
    random,
    consumer,
    method: METHODS[endpoint % METHODS.length] ?? 'GET',
    target: `/v1/resource-${endpoint}/${Math.floor(random(3) * 1e6)}`,
    path: `/v1/resource-${endpoint}/{id}`,
    status_code: random(4) < 0.001 ? 500 : random(4) < 0.04 ? 404 : 200,
    response_size_bytes: Math.floor(Math.exp(5 + 6 * random(7))),
    client_ip: toAddress(consumer * ADDRESSES + Math.floor(random(9) * ADDRESSES)),
  };
}

function toNdjson(nth: number, timestamp: number, identity: { request_uuid?: string }): string {
  const { random, consumer, method, target, path, status_code, response_size_bytes, client_ip } = pick(nth);
  const text = JSON.stringify({
    ...identity,
    timestamp: new Date(timestamp).toISOString(),
    method,
    url: `https://api.example.com${target}`,
    path,
    status_code,
    env: random(5) < 0.9 ? 'prod' : 'staging',
    consumer: { identifier: `customer-${consumer}` },
    request_size_bytes: method === 'GET' ? null : Math.floor(random(6) * 4000),
    response_size_bytes,
    response_time_ms: Math.floor(Math.exp(1 + 6 * random(8))),
    client_ip,
    ...(nth % CAPTURED_EACH === 0 ? captured(timestamp) : {}),
  });
  // Nanoseconds are numbers on the wire, and more than a JavaScript number holds.
  return text.replace(/"(\d{19})"/g, '$1');
}

function combinedLine(nth: number, timestamp: number): string {
  const { consumer, method, target, status_code, response_size_bytes, client_ip } = pick(nth);
  const agent = AGENTS[consumer % AGENTS.length] ?? '';
  return `${client_ip} - - [${toCombinedTime(timestamp)}] "${method} ${target} HTTP/1.1" ${status_code} ${response_size_bytes} "-" "${agent}"`;
}

function parsedLine(nth: number, timestamp: number): string {
  const { consumer, method, target, status_code, response_size_bytes, client_ip } = pick(nth);
  return JSON.stringify({
    _time: new Date(timestamp).toISOString().replace(/\.\d+/, ''),
    _msg: `${method} ${target} HTTP/1.1`,
    status: String(status_code),
    bytes: String(response_size_bytes),
    client_ip,
    user_agent: AGENTS[consumer % AGENTS.length],
  });
}

/** As in `27/Nov/2026:14:05:09 +0000`. */
function toCombinedTime(timestamp: number): string {
  const [, day, month, year, time] = new Date(timestamp).toUTCString().split(' ');
  return `${day}/${month}/${year}:${time} +0000`;
}

function toAddress(host: number): string {
  return [1, 2, 3, 4].map((part) => Math.floor(hash(host * 4 + part) * 223) + 1).join('.');
}

function captured(timestamp: number) {
  const start = BigInt(Math.floor(timestamp)) * 1_000_000n;
  return {
    request_headers: [
      ['accept', 'application/json'],
      ['user-agent', 'shop-client/3.2'],
    ],
    response_headers: [['content-type', 'application/json']],
    request_body_json: BODY,
    logs: [{ timestamp: new Date(timestamp).toISOString(), message: 'Order checked', level: 'INFO' }],
    spans: [
      {
        span_id: '2d0b1fb7e21bb4de',
        name: 'SELECT orders',
        kind: 'CLIENT',
        start_time_ns: String(start),
        end_time_ns: String(start + 4_000_000n),
      },
    ],
  };
}

/** A number from 0 to 1 that belongs to its argument (the finalizer of MurmurHash3). */
function hash(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
}
