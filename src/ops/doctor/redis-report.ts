import { Redis } from 'ioredis';

/** The facts that Redis reports about itself. */
interface RedisReport {
  /** The eviction policy when its memory is full. */
  policy: string;
  /** Whether it keeps its data over a restart; undefined if unknown. */
  isPersistent: boolean | undefined;
  /** Milliseconds since the epoch. */
  ms: number;
}

const CONNECT_TIMEOUT_MS = 2_000;

/** @throws the error of the connection, or of Redis */
export async function readRedis(url: string): Promise<RedisReport> {
  const redis = new Redis(url, {
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: CONNECT_TIMEOUT_MS,
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let failure: Error | undefined;
  redis.on('error', (error: Error) => {
    failure = error;
  });
  try {
    await redis.connect();
    const info = parseInfo(await redis.info());
    const [seconds, microseconds] = await redis.time();
    // Providers may forbid this command.
    const save = await redis.config('GET', 'save').catch(() => undefined);
    const isSaved = Array.isArray(save) ? save[1] !== '' : undefined;
    return {
      policy: info.get('maxmemory_policy') ?? '',
      isPersistent: info.get('aof_enabled') === '1' ? true : isSaved,
      ms: Number(seconds) * 1000 + Number(microseconds) / 1000,
    };
  } catch (error) {
    throw failure ?? error;
  } finally {
    redis.disconnect();
  }
}

function parseInfo(text: string): Map<string, string> {
  return new Map(
    text.split('\r\n').flatMap((line) => {
      const at = line.indexOf(':');
      return at > 0 ? [[line.slice(0, at), line.slice(at + 1)] as const] : [];
    }),
  );
}
