import { execFileSync } from 'node:child_process';

/** The branch that `npm run check` compares with. */
export const CHECK_BASE = process.env.CHECK_BASE ?? 'main';

/** The lines of an output of git. */
export function git(...args: string[]): string[] {
  return execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
}

/** The files that differ from the branch, with those that git does not know yet. */
export function listChangedFiles(): string[] {
  const [start = 'HEAD'] = git('merge-base', CHECK_BASE, 'HEAD');
  return [...git('diff', '--name-only', start), ...git('ls-files', '--others', '--exclude-standard')];
}
