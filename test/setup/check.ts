import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { CHECK_BASE, git, listChangedFiles } from './changed-files.js';
import { findSuites } from './touched-suites.js';

// Runs all unit suites, and the suites for the files that differ from the main branch.
const changed = listChangedFiles();
const suites = git('ls-files', '--cached', '--others', '--exclude-standard', '*.spec.ts').filter((suite) =>
  existsSync(suite),
);
const units = suites.filter((suite) => suite.endsWith('.unit.spec.ts'));
const touched = findSuites(changed, suites).filter((suite) => !units.includes(suite));
const names = touched.length === 0 ? 'none' : touched.join(', ');
process.stdout.write(
  `${units.length} unit suites, and of ${changed.length} files that differ from ${CHECK_BASE}: ${names}\n` +
    `\`npm test\` and CI run the others.\n`,
);
const jest = spawnSync('npx', ['jest', '--runTestsByPath', ...units, ...touched], { stdio: 'inherit' });
process.exitCode = jest.status ?? 1;
