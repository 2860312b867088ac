import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { minVersion, satisfies } from 'semver';
import { licencesText } from './licences.js';
import { manifest, packages, shipped } from './packages.js';

const EXACT = /^\d+\.\d+\.\d+(-[\w.]+)?$/;
/** What stands before the version of a package that is installed by another name. */
const ALIAS = /^npm:@?[^@]+@/;

const HASH = /^sha512-[A-Za-z0-9+/]{86}==$/;

/** Licences that ask for no more than their text and names to be passed on. */
const PERMISSIVE = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'Python-2.0',
  'Unlicense',
];
/** Those of tools, which are not passed on. */
const OF_TOOLS = [...PERMISSIVE, 'CC-BY-4.0', 'CC0-1.0', 'MPL-2.0'];

const terms = (licence: string) => licence.replace(/[()]/g, '').split(/ (?:AND|OR) /);
const beyond = (allowed: readonly string[]) => (dependency: { licence: string }) =>
  !terms(dependency.licence).every((term) => allowed.includes(term));

describe('the supply chain', () => {
  it('names exact versions, from the registry alone', () => {
    const { dependencies, devDependencies, optionalDependencies } = manifest;
    const wanted = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
    expect(wanted.filter(([, version]) => !EXACT.test(version.replace(ALIAS, '')))).toEqual([]);
    expect(packages.filter(({ version }) => !EXACT.test(version))).toEqual([]);
  });

  it('knows every package that it ships by its content, but for three parts for other platforms', () => {
    const unknown = shipped.filter(({ integrity }) => !HASH.test(integrity ?? ''));
    expect(shipped.length - unknown.length).toBeGreaterThan(100);
    // The registry that the lockfile was made with did not have them: `npm run lockfile:integrity` with one
    // that does.
    expect(unknown.map(({ name, version }) => `${name}@${version}`)).toEqual([
      '@chdb/lib-darwin-arm64@26.7.3-stable.1',
      '@chdb/lib-darwin-x64@26.7.3-stable.1',
      '@chdb/lib-linux-arm64-gnu@26.7.3-stable.1',
    ]);
  });

  it('knows every tool by its content', () => {
    const unknown = packages.filter(
      (shippedPackage) => !shipped.includes(shippedPackage) && !HASH.test(shippedPackage.integrity ?? ''),
    );
    expect(unknown.map(({ name }) => name)).toEqual([]);
  });

  it('names no place that packages come from', () => {
    expect(packages.filter(({ resolved }) => resolved !== undefined).map(({ name }) => name)).toEqual([]);
    const urls = readFileSync('package-lock.json', 'utf8').match(/"[^"]*": "(git|file|https?):[^"]*"/g) ?? [];
    expect(urls.filter((line) => !/^"(url|funding)": /.test(line))).toEqual([]);
  });

  it('has no package that its makers gave up', () => {
    const deprecated = packages.filter((shippedPackage) => shippedPackage.deprecated !== undefined);
    expect(deprecated.map(({ name, version, deprecated }) => [name, version, deprecated])).toEqual([]);
  });

  it('has no package that npm warns of on the oldest Node it is for, or on the one that runs this', () => {
    const oldest = minVersion(manifest.engines.node)!.version;
    for (const node of [oldest, process.versions.node]) {
      const unfit = packages.filter(({ engines }) => !satisfies(node, engines?.node ?? '*'));
      expect(unfit.map(({ name, version, engines }) => [node, name, version, engines?.node])).toEqual([]);
    }
  });

  it('ships nothing but permissive licences', () => {
    const others = shipped.filter(beyond(PERMISSIVE));
    expect(others.map(({ name, licence }) => [name, licence])).toEqual([]);
  });

  it('uses tools of known licences', () => {
    const others = packages.filter(beyond(OF_TOOLS));
    expect(others.map(({ name, licence }) => [name, licence])).toEqual([]);
  });

  it('lists all that it ships in the SBOM, and nothing else', () => {
    const text = execFileSync('npm', ['run', '-s', 'sbom'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const sbom = JSON.parse(text) as {
      metadata: { component: { name: string } };
      components: { name: string; version: string; purl: string; 'bom-ref': string }[];
      dependencies: { ref: string; dependsOn: string[] }[];
    };
    const listed = sbom.components.map(({ name, version }) => `${name}@${version}`);
    expect(listed.sort()).toEqual(
      [...new Set(shipped.map(({ name, version }) => `${name}@${version}`))].sort(),
    );
    expect(sbom.components.every(({ purl }) => purl.startsWith('pkg:npm/'))).toBe(true);
    expect(sbom.metadata.component.name).toBe(manifest.name);
    const knownRefs = new Set(sbom.components.map((component) => component['bom-ref']));
    expect(sbom.dependencies[0]!.dependsOn.length).toBeGreaterThan(30);
    expect(
      sbom.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !knownRefs.has(ref)),
    ).toEqual([]);
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
