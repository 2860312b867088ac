import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const LOCKFILE = 'package-lock.json';
const HASH = /^sha512-[A-Za-z0-9+/]{86}==$/;

const lockfile = JSON.parse(readFileSync(LOCKFILE, 'utf8')) as {
  packages: Record<string, { name?: string; version: string; integrity?: string }>;
};
let missing = 0;
for (const [path, locked] of Object.entries(lockfile.packages)) {
  if (path === '' || locked.integrity !== undefined) continue;
  // The lockfile has the name of a package that is installed by another one.
  const name = locked.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const integrity = askRegistry(`${name}@${locked.version}`);
  if (integrity === undefined) {
    process.stderr.write(`the registry has no hash of ${name}@${locked.version}\n`);
    missing++;
  } else {
    const { version, ...rest } = locked;
    lockfile.packages[path] = { version, integrity, ...rest };
  }
}
writeFileSync(LOCKFILE, `${JSON.stringify(lockfile, null, 2)}\n`);
process.exitCode = missing === 0 ? 0 : 1;

function askRegistry(spec: string): string | undefined {
  try {
    const response = execFileSync('npm', ['view', spec, 'dist.integrity'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return HASH.exec(response.trim())?.[0];
  } catch {
    return undefined;
  }
}
