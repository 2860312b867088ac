import type { Command } from 'commander';
import { createProgram } from '../../src/entry/cli/program.js';

const WIDTH = 110;

const HEAD = `# Command line

<!-- Written by \`npm run cli:generate\` from the help of the program. -->

In a clone, \`request-analytics\` is \`npm run -s cli --\`. In a container it is \`docker exec -it NAME request-analytics\`.

Most commands also work while a server has the same \`DATA_DIR\` open. They reach the data through the server, by a Unix socket in the directory
that only its owner can open. The exceptions are \`restore\` and the commands that serve.

Results go to standard output: a table on a terminal, and one JSON object per line in a pipe or with \`--json\`. Messages go to standard error.
\`delete\` and \`erase\` ask on a terminal, and need \`--yes\` elsewhere.

| Exit code | Meaning                                                                                                            |
| --------- | ------------------------------------------------------------------------------------------------------------------ |
| 0         | done. An import: at least one line was valid, or the input was empty                                               |
| 1         | refused (an unknown app), failed (no line of an import was valid, \`verify\` found a damaged table), wrong arguments. Of \`check\` only: the condition does not hold |
| 2         | \`doctor\` has findings; \`check\` cannot tell, also because of wrong arguments |
| 78        | invalid configuration: a restart does not help                                                                     |
| 130, 143  | SIGINT (Ctrl-C) or SIGTERM stopped an import, export or restore. The same command continues; an export needs \`--resume\` |
| 141       | the program behind a pipe ended, as in \`verify \\| head -1\`. A change that the command made stays                    |
`;

/** The text of docs/cli.md, before Prettier formats it. */
export function renderCliDocument(): string {
  return [HEAD, ...createProgram().commands.flatMap((command) => renderCommand(command, '##'))].join('\n');
}

function renderCommand(command: Command, heading: string): string[] {
  const path = command.parent?.parent ? `${command.parent.name()} ${command.name()}` : command.name();
  const members = command.commands.filter((member) => member.name() !== 'help');
  const title = `${heading} ${path}\n`;
  const help = `\`\`\`text\n${readHelp(command)}\n\`\`\`\n`;
  if (members.length === 0) return [title, help];
  return [
    title,
    // `openapi` does something by itself.
    command.name() === 'openapi' ? help : `${command.description()}\n`,
    ...members.flatMap((member) => renderCommand(member, `${heading}#`)),
  ];
}

/** The help as the program prints it into a pipe. */
function readHelp(command: Command): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => WIDTH });
  command.outputHelp();
  // Each help has them; the first lines of the document say what they do.
  return help.replace(/\nGlobal Options:\n(?: {2}.*\n)+/, '').trim();
}
