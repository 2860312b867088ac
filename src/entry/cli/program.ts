import { Command, type Option } from 'commander';
import { PRODUCT_VERSION } from '../../config/version.js';
import { alertCommand } from './alert.js';
import { appCommand } from './app.js';
import { backupCommand, restoreCommand } from './backup.js';
import { changesCommand } from './changes.js';
import { checkCommand } from './check.js';
import { collectorCommand } from './collector.js';
import { consumerCommand } from './consumer.js';
import { demoCommand } from './demo.command.js';
import { doctorCommand } from './doctor.js';
import { endpointCommand } from './endpoint.js';
import { exportCommand } from './export.command.js';
import { importCommand } from './import.js';
import { initCommand } from './init.js';
import { keyCommand } from './key.js';
import { mcpCommand } from './mcp.js';
import { migrateCommand } from './migrate.js';
import { openapiCommand } from './openapi.js';
import { envCommand } from './env.js';
import { findNearest } from '../../shared/nearest.js';
import { examples, setVariables } from './options.js';
import { forceJson } from './output.js';
import { releaseCommand } from './release.js';
import { serveCommand } from './serve.js';
import { statusCommand } from './status.js';
import { teamCommand } from './team.js';
import { verifyCommand } from './verify.js';
import { writeTokenCommand } from './write-token.js';

const EXIT_CODES =
  '\nExit codes: 0 done; 1 error or wrong usage, or a check does not hold; 2 doctor has findings, or check cannot tell; 78 invalid configuration; ' +
  '130 or 143 an import, export or restore was stopped; 141 output pipe closed.';

/** By the headings of the help. */
const COMMANDS = {
  'Start:': [initCommand, serveCommand, collectorCommand, demoCommand],
  'Data:': [
    importCommand,
    exportCommand,
    changesCommand,
    checkCommand,
    endpointCommand,
    consumerCommand,
    releaseCommand,
    alertCommand,
  ],
  'Teams, apps and keys:': [teamCommand, appCommand, envCommand, keyCommand, writeTokenCommand],
  'Operation:': [statusCommand, doctorCommand, verifyCommand, backupCommand, restoreCommand, migrateCommand],
  'For programs:': [mcpCommand, openapiCommand],
};

/** The command line with all its commands. */
export function createProgram(): Command {
  const program = new Command('request-analytics')
    .description('Request logs and traffic of monitored apps: the service and its administration.')
    .version(PRODUCT_VERSION, '-v, --version')
    .option('--json', 'print results as JSON, also on a terminal')
    .option('--data-dir <directory>', 'directory of the store; default: DATA_DIR')
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', examples('demo', 'team create --name Acme', 'help import'))
    .addHelpText('after', EXIT_CODES)
    .addHelpText('beforeAll', ({ error, command }) => {
      const [word, name] = command.args;
      // Refuses `help imprt` as it refuses `imprt`. Commander would print the help of all commands.
      if (error && word === 'help' && name !== undefined) command.parse([name], { from: 'user' });
      const [first, group, member] = program.args;
      // Commander reads one word after `help`: of `help team create` it would print the help of `team`.
      const isMember = command.commands.length > 0 && command.name() === group;
      if (first === 'help' && isMember && member !== undefined && member !== 'help')
        command.parse(['help', member], { from: 'user' });
      return '';
    })
    .hook('preAction', (_, command) => {
      if (program.opts<{ json?: boolean }>().json) forceJson();
      setVariables(command);
    });
  for (const [heading, commands] of Object.entries(COMMANDS)) {
    program.commandsGroup(heading);
    for (const register of commands) register(program);
  }
  nameUnknownOptions(program);
  leaveVersionToReleases(program);
  return program;
}

/** Commander would take `release mark --version 2.14.1` as the question for the version of the program. */
function leaveVersionToReleases(program: Command): void {
  const parseOptions = program.parseOptions.bind(program);
  const options = program.options as Option[];
  const names = new Set(program.commands.map((command) => command.name()));
  program.parseOptions = (args) => {
    if (args.find((argument) => names.has(argument)) !== 'release') return parseOptions(args);
    const index = options.findIndex(({ long }) => long === '--version');
    const version = options.splice(index, 1);
    try {
      return parseOptions(args);
    } finally {
      options.splice(index, 0, ...version);
    }
  };
}

/** Commander says of `--ap 1` that `--app` is missing, and nothing of `--ap`. */
function nameUnknownOptions(command: Command): void {
  command.configureOutput({
    outputError: (text, write) => {
      write(text);
      const unknown = command.args.find((argument) => argument.startsWith('--'));
      if (unknown === undefined || !text.startsWith('error: required option')) return;
      const [meant] = findNearest(
        unknown,
        command.options.flatMap(({ long }) => long ?? []),
        1,
      );
      write(`(There is no option ${unknown}. Did you mean ${meant}?)\n`);
    },
  });
  for (const member of command.commands) nameUnknownOptions(member);
}
