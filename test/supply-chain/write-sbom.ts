import { execFileSync } from 'node:child_process';
import { manifest, shipped } from './packages.js';

/** CycloneDX, as npm writes it. */
interface Sbom {
  metadata: { component: { name: string } };
  components: { name: string; version: string; 'bom-ref': string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

// `npm sbom --omit dev` leaves out every package on which a development package depends as well, so the rest
// is left out here.
const text = execFileSync('npm', ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'], {
  encoding: 'utf8',
  maxBuffer: 256 * 1024 * 1024,
  stdio: ['ignore', 'pipe', 'inherit'],
});
const sbom = JSON.parse(text) as Sbom;
const kept = new Set(shipped.map(({ name, version }) => `${name}@${version}`));
const components = sbom.components.filter(({ name, version }) => kept.has(`${name}@${version}`));
const knownRefs = new Set(components.map((component) => component['bom-ref']));
const dependencies = sbom.dependencies
  .filter(({ ref }, index) => index === 0 || knownRefs.has(ref))
  .map(({ ref, dependsOn }) => ({
    ref,
    dependsOn: dependsOn.filter((reference) => knownRefs.has(reference)),
  }));
// npm names the project by its directory.
const metadata = { ...sbom.metadata, component: { ...sbom.metadata.component, name: manifest.name } };
process.stdout.write(`${JSON.stringify({ ...sbom, metadata, components, dependencies }, null, 2)}\n`);
