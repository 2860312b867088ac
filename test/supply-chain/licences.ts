import { shipped } from './packages.js';

const HEAD = `# Licences

Of the packages that an installation without development packages has, for every platform, and of those in the dashboard
(texts of what the build contains are in \`dist/licences.md\` and \`dist/dashboard/licences.md\`). \`npm run licences\` writes this list, and the tests hold it against the lockfile.
Versions are in the lockfile and in the SBOM that CI makes.
`;

/** The text of docs/licences.md. */
export function licencesText(): string {
  const licences = [...new Set(shipped.map(({ licence }) => licence))].sort();
  return [HEAD, ...licences.map(formatSection)].join('\n');
}

function formatSection(licence: string): string {
  const packages = shipped.filter((candidate) => candidate.licence === licence);
  const names = [...new Set(packages.map(({ name }) => name))].sort();
  return `## ${licence} (${names.length})\n\n${names.map((name) => `- ${name}\n`).join('')}`;
}
