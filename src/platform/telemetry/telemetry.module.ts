import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { openTelemetry } from './open-telemetry.js';
import { Telemetry } from '../../telemetry/telemetry.js';

/** Provides metrics and traces and stops them with the application. */
@Global()
@Module({
  providers: [{ provide: Telemetry, inject: [Config], useFactory: openTelemetry }],
  exports: [Telemetry],
})
export class TelemetryModule implements OnApplicationShutdown {
  constructor(@Inject(Telemetry) private readonly telemetry: Telemetry) {}

  async onApplicationShutdown() {
    await this.telemetry.close();
  }
}
