import type { Result } from 'ioredis';

/**
 * Hits (0 without a window), end of the window in milliseconds since the Unix epoch by Redis's clock,
 * milliseconds left.
 */
type WindowReply = [hits: number, endsAtMs: number, leftMs: number];

declare module 'ioredis' {
  interface RedisCommander<Context> {
    hitWindow(key: string, windowMs: number): Result<WindowReply, Context>;
    peekWindow(key: string): Result<WindowReply, Context>;
  }
}

const CLOCK = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)`;

/**
 * The end is stored with the count, because an end computed from the key's TTL would differ by some
 * milliseconds for each request of a window. A key that is not a valid window (another type, no end, an end
 * too far away) would fail or block its owner forever, so it is replaced. Errors that concern Redis as a
 * whole are raised by the write.
 */
const HIT = `${CLOCK}
local length = tonumber(ARGV[1])
local ends = tonumber(redis.pcall('HGET', KEYS[1], 'ends'))
if not ends or ends <= now or ends > now + length then
  ends = now + length
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'ends', ends)
  redis.call('PEXPIREAT', KEYS[1], ends)
end
return { redis.call('HINCRBY', KEYS[1], 'hits', 1), ends, ends - now }`;

const PEEK = `${CLOCK}
local found = redis.pcall('HMGET', KEYS[1], 'hits', 'ends')
local hits, ends = tonumber(found[1]), tonumber(found[2])
if not hits or not ends then
  return { 0, 0, 0 }
end
return { hits, ends, ends - now }`;

/** Redis runs each script as one atomic step. */
export const SCRIPTS = {
  hitWindow: { lua: HIT, numberOfKeys: 1 },
  peekWindow: { lua: PEEK, numberOfKeys: 1 },
};
