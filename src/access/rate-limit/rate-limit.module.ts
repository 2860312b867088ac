import { Module } from '@nestjs/common';
import { getOptionsToken, getStorageToken } from '@nestjs/throttler';
import { Config } from '../../config/config.js';
import { Telemetry } from '../../telemetry/telemetry.js';
import { CounterStorage } from './counter.storage.js';
import { FailedAuthLimiter } from './failed-auth-limiter.js';
import { FallbackCounter } from './fallback.counter.js';
import { MemoryCounter } from './memory.counter.js';
import { OperationLimiter } from './operation-limiter.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { WINDOW_MS, WindowCounter } from './window.counter.js';

async function createCounter({ redisUrl }: Config, telemetry = Telemetry.none): Promise<WindowCounter> {
  const memory = new MemoryCounter();
  if (redisUrl === undefined) return memory;
  // Most installations have no Redis and do not load its client.
  const { RedisCounter } = await import('./redis.counter.js');
  const redis = new RedisCounter(redisUrl, WINDOW_MS, telemetry.tracing);
  const counter = new FallbackCounter(redis, memory);
  telemetry.metrics?.registerFallbackGauge(() => counter.state === 'fallback');
  return counter;
}

/** Counts requests and failed authentications: in Redis if configured, else in the process. */
@Module({
  providers: [
    {
      provide: WindowCounter,
      useFactory: createCounter,
      inject: [Config, { token: Telemetry, optional: true }],
    },
    {
      provide: getOptionsToken(),
      inject: [Config],
      useFactory: ({ rateLimitPerMinute: limit }: Config) => [{ limit, ttl: WINDOW_MS }],
    },
    { provide: getStorageToken(), useClass: CounterStorage },
    RateLimitGuard,
    FailedAuthLimiter,
    OperationLimiter,
  ],
  exports: [WindowCounter, RateLimitGuard, FailedAuthLimiter, OperationLimiter],
})
export class RateLimitModule {}
