import { Argument, type Command, type Option } from 'commander';

const SCRIPTS = { bash, zsh, fish } as const;
type Shell = keyof typeof SCRIPTS;
const SHELLS = Object.keys(SCRIPTS) as Shell[];

const EXAMPLES = `
Examples:
  source <(request-analytics completion bash)      in ~/.bashrc
  source <(request-analytics completion zsh)       in ~/.zshrc, after compinit
  request-analytics completion fish | source       in ~/.config/fish/config.fish`;

export function completionCommand(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'shell').choices(SHELLS))
    .addHelpText('after', EXAMPLES)
    .action((shell: Shell) => {
      process.stdout.write(SCRIPTS[shell](program));
    });
}

/** A command, and what can follow it. */
interface Node {
  /** The words that lead to it, without the program's name. */
  path: string[];
  commands: readonly Command[];
  options: readonly Option[];
}

/** All commands, those with the longest paths first. */
function listNodes(program: Command): Node[] {
  const visit = (command: Command, path: string[]): Node[] => {
    const help = command.createHelp();
    const commands = help.visibleCommands(command);
    const options = [...help.visibleOptions(command), ...(path.length > 0 ? program.options : [])];
    // `help` is made for each call and has no options.
    const below = commands.filter((one) => command.commands.includes(one));
    return [...below.flatMap((one) => visit(one, [...path, one.name()])), { path, commands, options }];
  };
  return visit(program, []);
}

function bash(program: Command): string {
  return `_request_analytics() {
  local words= previous=\${COMP_WORDS[COMP_CWORD - 1]}
  case "\${COMP_WORDS[*]:1:COMP_CWORD - 1} " in
${cases(program)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _request_analytics ${program.name()}
`;
}

function zsh(program: Command): string {
  return `_request_analytics() {
  local found= previous=\${words[CURRENT - 1]} line="\${words[2,CURRENT - 1]} "
  () {
    local words=
    case "$line" in
${cases(program)}
    esac
    found=$words
  }
  compadd -- \${=found} || _files
}
compdef _request_analytics ${program.name()}
`;
}

/** Sets \`words\` by the words so far, and by the one before if it is an option with a value. */
function cases(program: Command): string {
  return listNodes(program)
    .map(({ path, commands, options }) => {
      const words = [...commands.map((one) => one.name()), ...options.flatMap(({ long }) => long ?? [])];
      const values = options
        .filter((option) => option.required)
        .map(({ long = '', argChoices = [] }) => `${long}) words='${argChoices.join(' ')}' ;;`);
      const pattern = path.length > 0 ? `'${path.join(' ')} '*` : `' '`;
      const otherwise = `*) words='${words.join(' ')}' ;;`;
      return `    ${pattern}) case "$previous" in ${[...values, otherwise].join(' ')} esac ;;`;
    })
    .join('\n');
}

function fish(program: Command): string {
  const complete = `complete -c ${program.name()}`;
  const lines = listNodes(program).flatMap(({ path, commands, options }) => {
    const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`);
    const names = commands.map((one) => one.name()).join(' ');
    const isAt = [...seen, ...(names === '' ? [] : [`not __fish_seen_subcommand_from ${names}`])].join(
      '; and ',
    );
    return [
      ...commands.map(
        (one) => `${complete} -f -n ${quote(isAt)} -a ${one.name()} -d ${quote(one.description())}`,
      ),
      ...options.map(({ long = '', required, argChoices, description }) =>
        [
          `${complete} -n ${quote(isAt)} -l ${long.slice(2)} -d ${quote(description)}`,
          ...(required ? ['-r'] : []),
          ...(argChoices ? [`-f -a ${quote(argChoices.join(' '))}`] : []),
        ].join(' '),
      ),
    ];
  });
  return `${lines.join('\n')}\n`;
}

function quote(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`;
}
