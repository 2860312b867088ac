import type { Command } from 'commander';
import { examples } from './options.js';

/** Prints the OpenAPI document; opens neither a store nor a port. */
export function openapiCommand(program: Command): void {
  program
    .command('openapi')
    .description('print the OpenAPI document')
    .addHelpText('after', examples('openapi > openapi.json'))
    .action(async () => {
      // Loaded here: no other command needs the framework's core.
      const { NestFactory } = await import('@nestjs/core');
      const { AppModule } = await import('../../app.module.js');
      const { HttpAdapter } = await import('../../platform/http/http.adapter.js');
      const { Config } = await import('../../config/config.js');
      const { createDocument } = await import('../../platform/openapi/openapi.js');
      const config = new Config();
      const app = await NestFactory.create(AppModule.on(config), new HttpAdapter(), {
        preview: true,
        logger: false,
      });
      process.stdout.write(`${JSON.stringify(createDocument(app, config.publicPath), null, 2)}\n`);
    });
}
