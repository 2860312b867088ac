import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { aSync, anItem } from '../collector/setup/messages.js';
import type { Prepared } from './attacker.js';

const LINE_FEED = '\n';

/** A `startup` that names so many endpoints, none of which `first` to `first + count - 1` did not name. */
export function startupWith(first: number, count: number, pathLength = 0): Prepared {
  const paths = repeat(
    count,
    (n) => `{"method":"GET","path":"/a/${String(first + n).padEnd(pathLength, 'x')}"}`,
  );
  return prepare('startup', `{"message_uuid":"${randomUUID()}","paths":[${paths}]}`);
}

/** A `sync` with so many consumers, each of a group of its own. */
export function consumersWith(first: number, count: number): Prepared {
  const consumers = repeat(count, (n) => `{"identifier":"c${first + n}","group":"g${first + n}"}`);
  return syncWith({ consumers });
}

/** A `sync` with so many counts, each of a consumer and an endpoint of its own. */
export function countsWith(first: number, count: number): Prepared {
  const requests = repeat(
    count,
    (n) =>
      `{"consumer":"c${first + n}","method":"GET","path":"/b/${first + n}","status_code":200,"request_count":1,` +
      `"request_size_sum":1,"response_size_sum":1,"response_times":{"0":1},"request_sizes":{},"response_sizes":{}}`,
  );
  return syncWith({ requests });
}

/** A `sync` whose lists are these texts. */
export function syncWith(lists: { requests?: string; consumers?: string }): Prepared {
  const text = JSON.stringify({ ...aSync(), requests: '<requests>', consumers: '<consumers>' })
    .replace('"<requests>"', () => `[${lists.requests ?? ''}]`)
    .replace('"<consumers>"', () => `[${lists.consumers ?? ''}]`);
  return prepare('sync', text);
}

/** A log file, in gzip, of so many requests with bodies of so many bytes. */
export function logWith(count: number, bodyBytes: number): Prepared {
  // Digits of random numbers pack to some half, as JSON of real applications does at best.
  const body = Buffer.from(`"${randomDigits(bodyBytes)}"`).toString('base64');
  const lines = Array.from({ length: count }, () =>
    JSON.stringify(anItem({ request: { body }, response: { body } })),
  );
  return packed(lines.join(LINE_FEED) + LINE_FEED);
}

/** A log file of this text, in gzip. */
export function packed(text: string | Buffer): Prepared {
  return { kind: 'log', body: new Uint8Array(gzipSync(text)) };
}

export function prepare(kind: Prepared['kind'], text: string): Prepared {
  return { kind, body: new Uint8Array(Buffer.from(text)) };
}

export function repeat(count: number, text: (n: number) => string): string {
  return Array.from({ length: count }, (_, n) => text(n)).join();
}

function randomDigits(length: number): string {
  let digits = '';
  while (digits.length < length) digits += Math.random().toString().slice(2);
  return digits.slice(0, length);
}
