import { readFileSync } from 'node:fs';
import { minVersion, satisfies } from 'semver';
import { licencesText } from './licences.js';
import { manifest, packages, shipped } from './packages.js';

const EXACT = /^\d+\.\d+\.\d+(-[\w.]+)?$/;

/** Licences that ask for no more than their text and names to be passed on. */
const PERMISSIVE = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'Python-2.0',
];
/** Those of tools, which are not passed on. */
const OF_TOOLS = [...PERMISSIVE, 'CC-BY-4.0', 'CC0-1.0', 'Unlicense'];

const terms = (licence: string) => licence.replace(/[()]/g, '').split(/ (?:AND|OR) /);
const beyond = (allowed: readonly string[]) => (one: { licence: string }) =>
  !terms(one.licence).every((term) => allowed.includes(term));

describe('the supply chain', () => {
  it('names exact versions, from the registry alone', () => {
    const { dependencies, devDependencies, optionalDependencies } = manifest;
    const wanted = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
    expect(wanted.filter(([, version]) => !EXACT.test(version))).toEqual([]);
    expect(packages.filter(({ version }) => !EXACT.test(version))).toEqual([]);
  });

  it('knows every package by its content, but for parts made for another platform', () => {
    const known = packages.filter(({ integrity }) => integrity?.startsWith('sha512-'));
    expect(known.length).toBeGreaterThan(500);
    const others = packages.filter((one) => !known.includes(one));
    expect(others.filter(({ os, optional }) => os === undefined || optional !== true)).toEqual([]);
  });

  it('has no package that its makers gave up', () => {
    const deprecated = packages.filter((one) => one.deprecated !== undefined);
    expect(deprecated.map(({ name, version, deprecated }) => [name, version, deprecated])).toEqual([]);
  });

  it('has no package that npm warns of on the oldest Node it is for, or on the one that runs this', () => {
    const oldest = minVersion(manifest.engines.node)!.version;
    for (const node of [oldest, process.versions.node]) {
      const unfit = packages.filter(({ engines }) => !satisfies(node, engines?.node ?? '*'));
      expect(unfit.map(({ name, version, engines }) => [node, name, version, engines?.node])).toEqual([]);
    }
  });

  it('builds what nest-cli.json says', () => {
    const { compilerOptions } = JSON.parse(readFileSync('nest-cli.json', 'utf8'));
    expect(compilerOptions).toEqual({
      builder: 'tsc',
      tsConfigPath: 'tsconfig.build.json',
      deleteOutDir: true,
    });
    expect(manifest.scripts.build).toMatch(/rmSync\('dist'.* && tsc -p tsconfig\.build\.json$/);
  });

  it('ships nothing but permissive licences', () => {
    const others = shipped.filter(beyond(PERMISSIVE));
    expect(others.map(({ name, licence }) => [name, licence])).toEqual([]);
  });

  it('uses tools of known licences', () => {
    const others = packages.filter(beyond(OF_TOOLS));
    expect(others.map(({ name, licence }) => [name, licence])).toEqual([]);
  });

  it('lists the licences of what it ships', () => {
    expect(readFileSync('docs/licences.md', 'utf8')).toBe(licencesText());
  });

  it('needs no install script of any package, and has npm refuse them by name', () => {
    const withScripts = packages.filter(({ hasInstallScript }) => hasInstallScript).map(({ name }) => name);
    const refused = Object.entries(manifest.allowScripts).filter(([, isAllowed]) => !isAllowed);
    expect(refused.map(([name]) => name).sort()).toEqual([...new Set(withScripts)].sort());
  });
});
