import { type DynamicModule, Module } from '@nestjs/common';
import { AlertsModule } from './api/alerts/alerts.module.js';
import { AppMetricsModule } from './api/app-metrics/app-metrics.module.js';
import { AppsModule } from './api/apps/apps.module.js';
import { AuthModule } from './access/auth.module.js';
import { ClickHouseModule } from './write/clickhouse.module.js';
import { ChangesModule } from './api/changes/changes.module.js';
import type { Config } from './config/config.js';
import { ConfigModule } from './config/config.module.js';
import { ConsumersModule } from './api/consumers/consumers.module.js';
import { EndpointsModule } from './api/endpoints/endpoints.module.js';
import { HealthModule } from './ops/health/health.module.js';
import { ErrorsModule } from './api/errors/errors.module.js';
import { InstancesModule } from './api/instances/instances.module.js';
import { ReleasesModule } from './api/releases/releases.module.js';
import { FallbackModule } from './platform/http/fallback.module.js';
import { McpModule } from './mcp/mcp.module.js';
import { TelemetryModule } from './platform/telemetry/telemetry.module.js';
import { PaginationModule } from './platform/paging/pagination.module.js';
import { PrometheusModule } from './api/prometheus/prometheus.module.js';
import { RequestLogsModule } from './api/request-logs/request-logs.module.js';
import { TeamModule } from './api/team/team.module.js';
import { TracesModule } from './api/traces/traces.module.js';
import { TrafficModule } from './api/traffic/traffic.module.js';

@Module({
  imports: [
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
    ChangesModule,
    ErrorsModule,
    InstancesModule,
    ReleasesModule,
    PrometheusModule,
    AlertsModule,
    TracesModule,
    McpModule,
    FallbackModule,
  ],
})
export class AppModule {
  static on(config: Config): DynamicModule {
    return { module: AppModule, imports: [ConfigModule.of(config)] };
  }
}
