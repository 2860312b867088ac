import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { buildLogItem, buildSync } from '../collector/setup/messages.js';

type Kind = 'startup' | 'sync' | 'log';

/** A message that can be sent in any number of copies. */
export interface Prepared {
  kind: Kind;
  body: Buffer<ArrayBuffer>;
}

export const MIB = 1024 * 1024;
/** The place of a message's UUID, which each copy has its own of. */
const UUID = '00000000-0000-4000-8000-000000000000';

/** The body of a message with a UUID; a log file has its own in the URL. */
export function renewed(kind: Kind, body: Prepared['body'], uuid: string): Prepared['body'] {
  const at = kind === 'log' ? -1 : body.subarray(0, 1024).indexOf(UUID);
  if (at === -1) return body;
  const copy = Buffer.from(body);
  copy.write(uuid, at);
  return copy;
}

/**
 * A `startup` that names `count` endpoints with the numbers from `first` on. Their paths have at least
 * `pathLength` characters.
 */
export function startupWith(first: number, count: number, pathLength = 0): Prepared {
  const paths = list(count, (n) => {
    return `{"method":"GET","path":"/a/${String(first + n).padEnd(pathLength, 'x')}"}`;
  });
  return prepared('startup', `{"message_uuid":"${UUID}","paths":[${paths}]}`);
}

/** A `sync` that names the consumers with the numbers from `first` on, each of a group of its own. */
export function consumersWith(first: number, count: number): Prepared {
  return syncWith({
    consumers: list(count, (n) => `{"identifier":"c${first + n}","group":"g${first + n}"}`),
  });
}

/** A `sync` that counts one request of each of `count` consumers, each on an endpoint of its own. */
export function countsWith(first: number, count: number): Prepared {
  return syncWith({
    requests: list(
      count,
      (n) =>
        `{"consumer":"c${first + n}","method":"GET","path":"/b/${first + n}","status_code":200,"request_count":1,` +
        `"request_size_sum":1,"response_size_sum":1,"response_times":{"0":1},"request_sizes":{},"response_sizes":{}}`,
    ),
  });
}

/** A `sync` with these entries in its lists, as they stand in the body. */
export function syncWith({
  requests = '',
  consumers = '',
}: {
  requests?: string;
  consumers?: string;
}): Prepared {
  const { timestamp, instance_uuid } = buildSync();
  return prepared(
    'sync',
    `{"message_uuid":"${UUID}","timestamp":${timestamp},"instance_uuid":"${instance_uuid}",` +
      `"requests":[${requests}],"consumers":[${consumers}]}`,
  );
}

/**
 * A log file of `count` requests with two bodies of `bodyLength` characters each. It unpacks to some fifty
 * times its size.
 */
export function logWith(count: number, bodyLength: number): Prepared {
  const lines = Array.from({ length: count }, () => {
    const text = randomBytes(Math.ceil(bodyLength / 40))
      .toString('hex')
      .repeat(20)
      .slice(0, bodyLength);
    const body = Buffer.from(JSON.stringify({ text })).toString('base64');
    return JSON.stringify(buildLogItem({ request: { body }, response: { body } }));
  });
  return packed(lines.join('\n'));
}

/** A log file of this text, in gzip. */
export function packed(text: string | Buffer): Prepared {
  return { kind: 'log', body: gzipSync(text, { level: 1 }) };
}

export function prepared(kind: Kind, text: string): Prepared {
  return { kind, body: Buffer.from(text) };
}

function list(count: number, entry: (n: number) => string): string {
  return Array.from({ length: count }, (_, n) => entry(n)).join();
}
