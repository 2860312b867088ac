import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import { StoreMonitor } from '../../store/health/store-monitor.js';
import { Public } from '../../platform/http/public.decorator.js';
import { PRODUCT_VERSION } from '../../config/version.js';
import { serviceUnavailable } from '../../platform/http/api-error.js';
import { type CounterState, WindowCounter } from '../../access/rate-limit/window.counter.js';

/** State of Redis according to the rate limit's counter. */
const REDIS = { redis: 'ok', fallback: 'unavailable', memory: 'not configured' } as const satisfies Record<
  CounterState,
  string
>;

/** A key of the counter that is never counted. */
const PROBE_KEY = 'health';

/**
 * Liveness and readiness for orchestrators and operators. Needs no key, and shows no host, account or secret.
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

  /** 200 while the process runs. */
  @Get('live')
  @Header('Cache-Control', 'no-store')
  live() {
    return { status: 'ok', version: PRODUCT_VERSION, node: process.versions.node };
  }

  /**
   * 200 if the store responds, otherwise 503. A `degraded` service is still ready: Redis is unavailable and
   * the process counts alone, or the last check found damage of the store.
   */
  @Get('ready')
  @Header('Cache-Control', 'no-store')
  async ready() {
    // Without the peek, the counter would learn only from the next request that Redis is unavailable.
    const [isReady] = await Promise.all([this.store.ping(), this.counter.peek(PROBE_KEY)]);
    if (!isReady) throw serviceUnavailable();
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
