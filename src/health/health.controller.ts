import { Controller, Get, Header } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../auth/public.decorator.js';
import { ClickHouse } from '../clickhouse/clickhouse.client.js';
import { serviceUnavailable } from '../common/http/api-error.js';

/** For whoever runs the service: is the process there, can it serve? Never needs a key. */
@Public()
@ApiExcludeController()
@Controller('health')
export class HealthController {
  constructor(private readonly store: ClickHouse) {}

  /** The process answers. */
  @Get('live')
  @Header('Cache-Control', 'no-store')
  live() {
    return { status: 'ok' };
  }

  /** The store answers as well; 503 while it does not. Redis is not asked: without it the service still serves. */
  @Get('ready')
  @Header('Cache-Control', 'no-store')
  async ready() {
    if (!(await this.store.ping())) throw serviceUnavailable();
    return { status: 'ok', store: this.store.kind };
  }
}
