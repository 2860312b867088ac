import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { AppMetricsModule } from '../api/app-metrics/app-metrics.module.js';
import { AppsModule } from '../api/apps/apps.module.js';
import { Config } from '../config/config.js';
import { ConsumersModule } from '../api/consumers/consumers.module.js';
import { EndpointsModule } from '../api/endpoints/endpoints.module.js';
import { ErrorsModule } from '../api/errors/errors.module.js';
import { ReleasesModule } from '../api/releases/releases.module.js';
import { RequestLogsModule } from '../api/request-logs/request-logs.module.js';
import { InputPipe } from '../platform/input/input.pipe.js';
import { AnalyticsReader } from './analytics-reader.js';
import { LlmsController } from './llms.controller.js';
import { McpController } from './mcp.controller.js';
import { allowMcp } from './mcp.middleware.js';
import { ToolRunner } from './tool-runner.js';

@Module({
  imports: [
    AppsModule,
    EndpointsModule,
    ConsumersModule,
    AppMetricsModule,
    RequestLogsModule,
    ErrorsModule,
    ReleasesModule,
  ],
  controllers: [McpController, LlmsController],
  providers: [InputPipe, AnalyticsReader, ToolRunner],
})
export class McpModule implements NestModule {
  constructor(private readonly config: Config) {}

  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(allowMcp(this.config)).forRoutes('mcp');
  }
}
