import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { StoreMonitor } from '../clickhouse/store-monitor.js';
import { Public } from '../common/public.decorator.js';
import { PRODUCT_VERSION } from '../config/version.js';
import { serviceUnavailable } from '../http/api-error.js';
import { type CounterState, WindowCounter } from '../rate-limit/window.counter.js';

/** What the counter of the rate limit says of Redis. */
const REDIS = { redis: 'ok', fallback: 'unavailable', memory: 'not configured' } as const satisfies Record<
  CounterState,
  string
>;

/**
 * For whoever runs the service: is the process there, can it serve, what is it? Never needs a key, and names no host, no
 * account and no secret.
 */
@Public()
@ApiExcludeController()
@Controller('health')
export class HealthController {
  constructor(
    private readonly store: ClickHouse,
    private readonly monitor: StoreMonitor,
    private readonly counter: WindowCounter,
  ) {}

  /** The process answers. */
  @Get('live')
  @Header('Cache-Control', 'no-store')
  live() {
    return { status: 'ok', version: PRODUCT_VERSION, node: process.versions.node };
  }

  /**
   * The store answers as well; 503 while it does not. What makes the service `degraded` makes it no less ready: Redis, which
   * is not asked, is away, and the service counts by itself; or the last check found damage of the store.
   */
  @Get('ready')
  @Header('Cache-Control', 'no-store')
  async ready() {
    if (!(await this.store.ping())) throw serviceUnavailable();
    const redis = REDIS[this.counter.state];
    return {
      ...this.live(),
      status: redis === 'unavailable' || this.monitor.isDamaged ? 'degraded' : 'ok',
      store: this.store.kind,
      engine: this.store.version,
      state: { store: this.monitor.isDamaged ? 'damaged' : 'ok', redis },
    };
  }
}
