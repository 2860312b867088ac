import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The parts of package.json that say what is installed. */
export interface Manifest {
  name: string;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  engines: { node: string };
  scripts: Record<string, string>;
  /** Whose install scripts may run, by name. */
  allowScripts: Record<string, boolean>;
}

interface Locked {
  version: string;
  integrity?: string;
  resolved?: string;
  license?: string;
  deprecated?: string;
  engines?: { node?: string };
  dev?: boolean;
  devOptional?: boolean;
  optional?: boolean;
  /** Systems that it is made for; all where left out. */
  os?: string[];
  hasInstallScript?: boolean;
  optionalDependencies?: Record<string, string>;
}

/** A package of the lockfile. */
export interface Package extends Locked {
  name: string;
  /** Where it is installed. */
  path: string;
  /** SPDX expression; empty where none is known. */
  licence: string;
}

const FOLDER = 'node_modules/';

export const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;
const lockfile = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, Locked>;
};

/** Everything in the lockfile but the project itself, for every platform. */
export const packages: readonly Package[] = Object.entries(lockfile.packages)
  .filter(([path]) => path !== '')
  .map(([path, locked]) => ({ ...locked, name: parseName(path), path, licence: getLicence(path, locked) }));

/** Development packages whose code the build puts into the dashboard; a test of the page compares. */
export const BUNDLED: readonly string[] = ['openapi-fetch', 'preact', 'uplot'];

/** What an installation without development packages can have, and what is in the dashboard. */
export const shipped: readonly Package[] = packages.filter(
  ({ name, dev, devOptional }) => (!dev && !devOptional) || BUNDLED.includes(name),
);

function parseName(path: string): string {
  return path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
}

/** As the lockfile says, or the package's own manifest, or what it is a platform's part of. */
function getLicence(path: string, { license }: Locked): string {
  return license ?? findOwnLicence(path) ?? findWhole(parseName(path)) ?? '';
}

function findOwnLicence(path: string): string | undefined {
  const file = join(path, 'package.json');
  if (!existsSync(file)) return undefined;
  const { license, licenses } = JSON.parse(readFileSync(file, 'utf8')) as {
    license?: string;
    licenses?: { type: string }[];
  };
  return license ?? licenses?.map(({ type }) => type).join(' OR ');
}

function findWhole(part: string): string | undefined {
  return Object.values(lockfile.packages).find(({ optionalDependencies }) => optionalDependencies?.[part])
    ?.license;
}
