import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A repeated run finds the packages here. */
const CACHE = join(process.cwd(), '.cache/clients');
export const APPS = join(process.cwd(), 'test/clients/apps');
/** Written when all commands of an installation are done. */
const STAMP = 'installed.json';
/** Longest command of an installation, in milliseconds. */
const COMMAND_WITHIN_MS = 600_000;
/** What npm, pip, Go and Maven write if their registry cannot be reached. */
const UNREACHABLE =
  /ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|NewConnectionError|Failed to establish a new connection|dial tcp|UnknownHost|Unknown host|Temporary failure in name resolution|Connection refused|[Cc]ould(?:n.t| not) resolve host/;

/**
 * Packages from the registry of a language, installed in a directory of the cache that several senders may
 * share.
 */
export interface Packages {
  directory: string;
  registry: string;
  /** The programs that installation and senders need. */
  needs: readonly string[];
  /** Commands that install them. Versions of what the commands name are exact: the README has them. */
  install: readonly Command[];
  /** Commands that compile the applications, in milliseconds if nothing has changed. */
  build?: readonly Command[];
}

type Command = readonly [program: string, ...args: string[]];

const run = promisify(execFile);

export function locate({ directory }: Pick<Packages, 'directory'>): string {
  return join(CACHE, directory);
}

/** Why senders with these packages cannot run; undefined if they can. */
export function findObstacle(packages: Packages): string | undefined {
  const missing = packages.needs.find((program) => !hasProgram(program));
  if (missing !== undefined) return `${missing} is not here`;
  return isInstalled(packages) ? undefined : `its registry is away: ${packages.registry}`;
}

/**
 * Installs the packages, unless they are in the cache, and copies and builds the applications.
 *
 * @returns whether they are installed: not without a program that they need, or if their registry cannot be
 * reached
 * @throws Error with the output of the command that fails otherwise
 */
export async function install(packages: Packages): Promise<boolean> {
  if (!packages.needs.every(hasProgram)) return false;
  const directory = locate(packages);
  try {
    if (!isInstalled(packages)) {
      await rm(directory, { recursive: true, force: true });
      mkdirSync(directory, { recursive: true });
      await runAll(packages.install, directory);
      writeFileSync(join(directory, STAMP), describeInstallation(packages));
    }
  } catch (error) {
    const output = describeFailure(error);
    if (UNREACHABLE.test(output)) return false;
    throw new Error(output, { cause: error });
  }
  cpSync(APPS, directory, { recursive: true });
  await runAll(packages.build ?? [], directory);
  return true;
}

export function hasProgram(program: string): boolean {
  try {
    execFileSync('which', [program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The command with all that it wrote: Maven writes errors to standard output. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'stdout' in error ? `${error.message}\n${String(error.stdout)}` : error.message;
}

function isInstalled(packages: Packages): boolean {
  try {
    return readFileSync(join(locate(packages), STAMP), 'utf8') === describeInstallation(packages);
  } catch {
    return false;
  }
}

function describeInstallation(packages: Packages): string {
  return JSON.stringify(packages.install);
}

async function runAll(commands: readonly Command[], cwd: string): Promise<void> {
  for (const [program, ...args] of commands) await run(program, args, { cwd, timeout: COMMAND_WITHIN_MS });
}
