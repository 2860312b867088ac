/**
 * Copies the version of package.json into the Helm chart and dates it in the changelog. `npm version` runs it
 * last.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { PRODUCT_VERSION } from '../../src/config/version.js';

const CHART = 'docs/helm/Chart.yaml';
const CHANGELOG = 'CHANGELOG.md';
const UNRELEASED = '## [Unreleased]\n';

writeFileSync(
  CHART,
  readFileSync(CHART, 'utf8').replace(/^(version|appVersion): .*$/gm, `$1: ${PRODUCT_VERSION}`),
);

const changelog = readFileSync(CHANGELOG, 'utf8');
if (!changelog.includes(`## [${PRODUCT_VERSION}]`)) {
  const date = new Date().toISOString().slice(0, 10);
  writeFileSync(
    CHANGELOG,
    changelog.replace(UNRELEASED, `${UNRELEASED}\n## [${PRODUCT_VERSION}] - ${date}\n`),
  );
}
