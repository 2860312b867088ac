import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';

/**
 * Searches what the product said in this run; a secret fails it. In a process: Jest's global hooks can import
 * no sources.
 */
export default function tearDown(): void {
  const { status } = spawnSync(
    process.execPath,
    ['--import', './test/setup/typescript.js', 'test/setup/secrets/search-run.ts'],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  if (status !== 0) process.exitCode = 1;
  rmSync(process.env.TMPDIR!, { recursive: true, force: true });
}
