import { Command, CommanderError } from 'commander';
import { PRODUCT_VERSION } from '../../config/version.js';
import { createProgram } from './program.js';

const PROGRAM = 'request-analytics';

/** Runs the command line without its actions; resolves to what it printed and its exit code. */
function run(...args: string[]): { out: string; err: string; code: number } {
  const program = createProgram();
  const printed = { out: '', err: '', code: 0 };
  for (const command of listCommands(program))
    command.exitOverride().configureOutput({
      writeOut: (text) => (printed.out += text),
      writeErr: (text) => (printed.err += text),
    });
  for (const command of listCommands(program)) if (isLeaf(command)) command.action(() => undefined);
  try {
    program.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    printed.code = error.exitCode;
  }
  return printed;
}

const isLeaf = (command: Command) => command.commands.length === 0;

function listCommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(listCommands)];
}

function pathTo(command: Command): string[] {
  return command.parent ? [...pathTo(command.parent), command.name()] : [];
}

const PATHS = listCommands(createProgram()).map((command) => pathTo(command).join(' '));

/** The words of a line, as a shell splits it, up to a pipe or a redirection. */
function splitWords(line: string): string[] {
  const [command = ''] = line.split(/ [|>] /, 1);
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

describe('the command line', () => {
  it.each(PATHS)('shows examples in the help that can be run as they are: %s', (path) => {
    const { out, code } = run(...path.split(' ').filter(Boolean), '--help');
    expect(code).toBe(0);
    expect(out).toMatch(/\nExamples:\n/);
    const lines = out.split('\n').filter((line) => line.includes(`${PROGRAM} `) && !line.startsWith('Usage'));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      const command = /request-analytics ([^)]*)/.exec(line)?.[1] ?? '';
      expect([line, run(...splitWords(command))]).toEqual([
        line,
        { out: expect.any(String), err: '', code: 0 },
      ]);
    }
  });

  it('knows --version and help', () => {
    expect(run('--version')).toEqual({ out: `${PRODUCT_VERSION}\n`, err: '', code: 0 });
    expect(run('help', 'import').out).toBe(run('import', '--help').out);
    expect(run('team', 'help', 'create').out).toBe(run('team', 'create', '--help').out);
    expect(run('help', 'team', 'create').out).toBe(run('team', 'create', '--help').out);
    expect(run('help', 'team', 'help').out).toBe(run('team', '--help').out);
    expect(run('help', 'status', 'now').out).toBe(run('status', '--help').out);
  });

  it.each([
    [['help', 'imprt'], 'imprt', 'import'],
    [['team', 'help', 'creat'], 'creat', 'create'],
    [['help', 'team', 'creat'], 'creat', 'create'],
  ])('refuses the unknown command of %j, and names the one that is meant', (args, unknown, meant) => {
    const err = `error: unknown command '${unknown}'\n(Did you mean ${meant}?)\n`;
    expect(run(...args)).toEqual({ out: '', err, code: 1 });
  });

  it('leaves --version to the command that marks releases', () => {
    const mark = (...args: string[]) => run(...args, 'release', 'mark', '--app', '1', '--version', '2.14.1');
    expect(mark()).toEqual({ out: '', err: '', code: 0 });
    expect(mark('--json')).toEqual({ out: '', err: '', code: 0 });
    expect(run('release', 'mark', '--app', '1').err).toContain("required option '--version <version>'");
    expect(run('team', 'list', '--version').out).toBe(`${PRODUCT_VERSION}\n`);
  });

  it('takes --json before and after a command', () => {
    for (const args of [
      ['--json', 'team', 'list'],
      ['team', 'list', '--json'],
      ['team', '--json', 'list'],
    ])
      expect(run(...args)).toMatchObject({ code: 0, err: '' });
    expect(run('team', 'list', '--help').out).toContain('--json');
  });

  it('knows -v, and takes --data-dir before and after a command', () => {
    expect(run('-v').out).toBe(`${PRODUCT_VERSION}\n`);
    const before = process.env.DATA_DIR;
    try {
      for (const args of [
        ['--data-dir', './shop', 'team', 'list'],
        ['team', 'list', '--data-dir', './shop'],
      ]) {
        delete process.env.DATA_DIR;
        expect(run(...args)).toMatchObject({ code: 0, err: '' });
        expect(process.env.DATA_DIR).toBe('./shop');
      }
    } finally {
      if (before === undefined) delete process.env.DATA_DIR;
      else process.env.DATA_DIR = before;
    }
  });

  it('names an option that does not exist where another one is missing', () => {
    expect(run('import', 'access.log', '--ap', '1').err).toBe(
      "error: required option '--app <id>' not specified\n(There is no option --ap. Did you mean --app?)\n",
    );
    expect(run('import', 'access.log').err).toBe("error: required option '--app <id>' not specified\n");
    expect(run('import', 'access.log', '--app', '1', '--evn', 'x').err).toContain("unknown option '--evn'");
  });

  it.each(['30d', '12h', '2w', '2200-01-01'])('takes a key that expires at %s', (expires) => {
    expect(run('key', 'create', '--team', '1', '--expires', expires)).toMatchObject({ code: 0, err: '' });
  });

  it.each(['2020-01-01', 'soon', new Date(Date.now() - 1).toISOString()])(
    'refuses a key that expires at %s',
    (expires) => {
      const { code, err } = run('key', 'create', '--team', '1', '--expires', expires);
      expect([code, err]).toEqual([1, expect.stringMatching(/^error: option '--expires .*must be/)]);
    },
  );

  it.each([
    [['--apps', '1,x'], /--apps .*whole number/],
    [['--apps', ''], /--apps .*whole number/],
    [['--operations', 'getTraffic,getNothing'], /There is no operation getNothing\. There are getTeam, /],
    [['--operations', ''], /There is no operation/],
    [['--requests-per-minute', '0'], /whole number/],
    [['--requests-per-minute', '4294967297'], /whole number from 1 to 2147483647/],
    [['--apps', '1,4294967297', '--consumer', 'acme'], /--apps .*whole number from 1 to 2147483647/],
  ])('refuses a key with the scopes %j', (scopes, message) => {
    const { code, err } = run('key', 'create', '--team', '1', ...scopes);
    expect([code, err]).toEqual([1, expect.stringMatching(message)]);
  });

  it.each([
    ['--source', 'a b'],
    ['--source', ''],
    ['--source', 'a'.repeat(65)],
    ['--base-url', 'api.example.com'],
    ['--base-url', 'ftp://api.example.com'],
    ['--base-url', 'https://api.example.com/?a=b'],
    ['--base-url', 'https://me:secret@api.example.com'],
    ['--consumer-from', 'referer'],
  ])('refuses an import with %s %p', (option, value) => {
    const { code, err } = run('import', '-', '--app', '1', option, value);
    expect([code, err]).toEqual([1, expect.stringContaining(`'${option} <`)]);
  });

  it('shows examples of a pipe in the help of import', () => {
    expect(run('import', '--help').out).toContain('xz -dc access.log.xz | ');
  });
});
