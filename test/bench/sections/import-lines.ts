import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

const SPAN_MS = 2 * 86_400_000;
const CHUNK = 1_000;
/** One line in so many has headers, a body, a log record and a span. */
const CAPTURED_EACH = 10;
const CONSUMERS = 20_000;
/** Of each consumer. */
const ADDRESSES = 3;
const METHODS = ['GET', 'POST', 'GET', 'PATCH', 'DELETE'];
const BODY = JSON.stringify({
  items: Array.from({ length: 12 }, (_, index) => ({
    sku: `SKU-${index}`,
    name: 'blue widget',
    quantity: index,
  })),
});

/** Writes requests of the last two days, oldest first, in the shape of Request Details; the bytes written. */
export async function writeLines(file: string, count: number): Promise<number> {
  const output = createWriteStream(file);
  const from = Date.now() - SPAN_MS;
  for (let start = 0; start < count; start += CHUNK) {
    const length = Math.min(CHUNK, count - start);
    const lines = Array.from({ length }, (_, index) => line(start + index, from, SPAN_MS / count));
    if (!output.write(`${lines.join('\n')}\n`)) await once(output, 'drain');
  }
  output.end();
  await finished(output);
  return output.bytesWritten;
}

function line(nth: number, from: number, stepMs: number): string {
  const random = (salt: number) => hash(nth * 16 + salt);
  const endpoint = Math.floor(195 ** random(1));
  const consumer = Math.floor(CONSUMERS ** random(2));
  const method = METHODS[endpoint % METHODS.length] ?? 'GET';
  const timestamp = from + nth * stepMs;
  const text = JSON.stringify({
    timestamp: new Date(timestamp).toISOString(),
    method,
    url: `https://api.example.com/v1/resource-${endpoint}/${Math.floor(random(3) * 1e6)}`,
    path: `/v1/resource-${endpoint}/{id}`,
    status_code: random(4) < 0.001 ? 500 : random(4) < 0.04 ? 404 : 200,
    env: random(5) < 0.9 ? 'prod' : 'staging',
    consumer: { identifier: `customer-${consumer}` },
    request_size_bytes: method === 'GET' ? null : Math.floor(random(6) * 4000),
    response_size_bytes: Math.floor(Math.exp(5 + 6 * random(7))),
    response_time_ms: Math.floor(Math.exp(1 + 6 * random(8))),
    client_ip: toAddress(consumer * ADDRESSES + Math.floor(random(9) * ADDRESSES)),
    ...(nth % CAPTURED_EACH === 0 ? captured(timestamp) : {}),
  });
  // Nanoseconds are numbers on the wire, and more than a JavaScript number holds.
  return text.replace(/"(\d{19})"/g, '$1');
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
