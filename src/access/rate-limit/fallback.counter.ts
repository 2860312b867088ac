import { Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { withTimeout } from '../../shared/async/timeout.js';
import type { MemoryCounter } from './memory.counter.js';
import type { RedisCounter } from './redis.counter.js';
import { type HitCounter, type RateWindow, WindowCounter } from './window.counter.js';

/** All in milliseconds. */
interface Timing {
  /**
   * The longest wait of a request for Redis: half of the 100 ms that the contract allows
   * (docs/contract.md#rate-limit-fallback).
   */
  commandTimeoutMs: number;
  /** The longest wait for Redis at the start of the process. */
  startMs: number;
  /** Pause between two probes while Redis is unavailable. */
  probeMs: number;
}

const TIMING: Timing = { commandTimeoutMs: 50, startMs: 1000, probeMs: 250 };

/** If Redis fails again this soon after its return, the pause doubles, so that the log is not flooded. */
const STEADY_MS = 10_000;
const MAX_PROBE_MS = 1000;

const PROBE_KEY = 'probe';

/**
 * Counts in Redis, and in this process while Redis is unavailable: a circuit breaker.
 *
 * The first failure opens the circuit, and a background probe closes it, so a silent Redis delays only the
 * requests in flight, not later ones. Published circuit breakers use a request as the probe, which then
 * waits. The probe counts like a request, so every reason for which Redis cannot count (no memory, read only,
 * loading, no permission) keeps the circuit open.
 */
export class FallbackCounter extends WindowCounter implements OnModuleInit, OnApplicationShutdown {
  private readonly log = new Logger(FallbackCounter.name);
  private readonly timing: Timing;
  private isCircuitClosed = true;
  private isShutDown = false;
  private closedAt = -Infinity;
  private probeMs: number;
  private nextProbe?: NodeJS.Timeout;

  constructor(
    private readonly redis: RedisCounter,
    private readonly memory: MemoryCounter,
    timing: Partial<Timing> = {},
  ) {
    super();
    this.timing = { ...TIMING, ...timing };
    this.probeMs = this.timing.probeMs;
  }

  get state() {
    return this.isCircuitClosed ? 'redis' : 'fallback';
  }

  async hit(key: string): Promise<RateWindow> {
    const window = await this.call((counter) => counter.hit(key));
    // So that a key's count continues from here, not from 0, if Redis fails within the window.
    if (this.isCircuitClosed) this.memory.seed(key, window);
    return window;
  }

  peek(key: string): Promise<RateWindow | null> {
    return this.call((counter) => counter.peek(key));
  }

  /**
   * Waits for Redis before the first request is served, so that a restart does not start a separate count.
   */
  async onModuleInit() {
    try {
      await withTimeout(this.timing.startMs, this.connectAndProbe());
    } catch (error) {
      this.openCircuit(error);
    }
  }

  onApplicationShutdown() {
    this.isShutDown = true;
    this.isCircuitClosed = false;
    clearTimeout(this.nextProbe);
    this.redis.close();
  }

  private async call<T>(command: (counter: HitCounter) => Promise<T>): Promise<T> {
    if (this.isCircuitClosed) {
      try {
        return await withTimeout(this.timing.commandTimeoutMs, command(this.redis));
      } catch (error) {
        this.openCircuit(error);
      }
    }
    return command(this.memory);
  }

  private openCircuit(error: unknown) {
    if (!this.isCircuitClosed) return;
    this.isCircuitClosed = false;
    const isFlapping = performance.now() - this.closedAt < STEADY_MS;
    this.probeMs = isFlapping ? Math.min(this.probeMs * 2, MAX_PROBE_MS) : this.timing.probeMs;
    const reason = describeError(this.redis.disconnection ?? error);
    this.log.warn(`Redis unavailable (${reason}), rate limiting falls back to this process`);
    this.probeLater();
  }

  private probeLater() {
    this.nextProbe = setTimeout(() => void this.probe(), this.probeMs);
    this.nextProbe.unref();
  }

  private async probe() {
    try {
      await withTimeout(this.timing.commandTimeoutMs, this.redis.hit(PROBE_KEY));
      this.closeCircuit();
    } catch {
      if (!this.isShutDown) this.probeLater();
    }
  }

  private closeCircuit() {
    if (this.isShutDown) return;
    this.isCircuitClosed = true;
    this.closedAt = performance.now();
    this.log.log('Redis available again, rate limiting is shared by all instances');
  }

  private async connectAndProbe() {
    await this.redis.connect();
    await this.redis.hit(PROBE_KEY);
  }
}

/** One line. A connection that failed on every address of a host has a code instead of a message. */
function describeError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message.replaceAll(/\s+/g, ' ');
}
