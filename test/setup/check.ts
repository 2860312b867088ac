import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { findSuites } from './touched-suites.js';

function git(...args: string[]): string[] {
  return execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
}

// Runs all unit suites, and the suites for the files that differ from the main branch.
const base = process.env.CHECK_BASE ?? 'main';
const [start = 'HEAD'] = git('merge-base', base, 'HEAD');
const changed = [...git('diff', '--name-only', start), ...git('ls-files', '--others', '--exclude-standard')];
const suites = git('ls-files', '--cached', '--others', '--exclude-standard', '*.spec.ts').filter((suite) =>
  existsSync(suite),
);
const units = suites.filter((suite) => suite.endsWith('.unit.spec.ts'));
const touched = findSuites(changed, suites).filter((suite) => !units.includes(suite));
const names = touched.length === 0 ? 'none' : touched.join(', ');
process.stdout.write(
  `${units.length} unit suites, and of ${changed.length} files that differ from ${base}: ${names}\n` +
    `\`npm test\` and CI run the others.\n`,
);
const jest = spawnSync('npx', ['jest', '--runTestsByPath', ...units, ...touched], { stdio: 'inherit' });
process.exitCode = jest.status ?? 1;
