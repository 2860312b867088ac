import { Module } from '@nestjs/common';
import { AppMetricsModule } from './app-metrics/app-metrics.module.js';
import { AppsModule } from './apps/apps.module.js';
import { AuthModule } from './auth/auth.module.js';
import { ClickHouseModule } from './bootstrap/clickhouse.module.js';
import { ConfigModule } from './config/config.module.js';
import { ConsumersModule } from './consumers/consumers.module.js';
import { EndpointsModule } from './endpoints/endpoints.module.js';
import { HealthModule } from './health/health.module.js';
import { FallbackModule } from './http/fallback.module.js';
import { McpModule } from './mcp/mcp.module.js';
import { TelemetryModule } from './observability/telemetry.module.js';
import { PaginationModule } from './pagination/pagination.module.js';
import { RequestLogsModule } from './request-logs/request-logs.module.js';
import { TeamModule } from './team/team.module.js';
import { TracesModule } from './traces/traces.module.js';
import { TrafficModule } from './traffic/traffic.module.js';

@Module({
  imports: [
    ConfigModule,
    TelemetryModule,
    ClickHouseModule,
    AuthModule,
    PaginationModule,
    HealthModule,
    TeamModule,
    AppsModule,
    EndpointsModule,
    ConsumersModule,
    RequestLogsModule,
    TrafficModule,
    AppMetricsModule,
    TracesModule,
    McpModule,
    FallbackModule,
  ],
})
export class AppModule {}
