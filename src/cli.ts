#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { formatStartupError, loadEnvFile } from './bootstrap/run.js';
import { appCommand } from './cli/app.js';
import { collectorCommand } from './cli/collector.js';
import { demoCommand } from './cli/demo.command.js';
import { endpointCommand } from './cli/endpoint.js';
import { exportCommand } from './cli/export.js';
import { importCommand } from './cli/import.js';
import { keyCommand } from './cli/key.js';
import { migrateCommand } from './cli/migrate.js';
import { openapiCommand } from './cli/openapi.js';
import { printMessage } from './cli/output.js';
import { serveCommand } from './cli/serve.js';
import { teamCommand } from './cli/team.js';
import { verifyCommand } from './cli/verify.js';
import { writeTokenCommand } from './cli/write-token.js';

const program = new Command('request-analytics')
  .description('Request logs and traffic of monitored apps: the service and its administration.')
  .showSuggestionAfterError()
  .helpCommand(false);

for (const register of [
  migrateCommand,
  teamCommand,
  appCommand,
  keyCommand,
  writeTokenCommand,
  endpointCommand,
  importCommand,
  exportCommand,
  verifyCommand,
  serveCommand,
  collectorCommand,
  demoCommand,
  openapiCommand,
])
  register(program);

try {
  loadEnvFile();
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) throw error;
  const { line, exitCode } = formatStartupError(error);
  printMessage(`error: ${line}`);
  process.exitCode = exitCode;
}
