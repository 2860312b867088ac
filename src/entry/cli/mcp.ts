import type { Command } from 'commander';
import { Config, ConfigError } from '../../config/config.js';
import { examples } from './options.js';

export function mcpCommand(program: Command): void {
  program
    .command('mcp')
    .description('offer the tools of a service to an agent, over standard input and output')
    .addHelpText('after', '\nAPI_URL is the address of the service, API_KEY an API key for it.')
    .addHelpText('after', examples('mcp'))
    .action(async () => {
      const { url, key } = new Config().api;
      if (key === undefined) throw new ConfigError('Invalid configuration. API_KEY: must be set');
      const { serveRemoteTools } = await import('../../mcp/remote-tools.js');
      serveRemoteTools(url, key);
    });
}
