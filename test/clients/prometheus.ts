import type { Packages } from './packages.js';

const VERSION = 'v0.316.0';
const MODULE = 'github.com/prometheus/prometheus';

/**
 * The parser, database and query engine of Prometheus, in a program that reads scrapes from files, and
 * `promtool` without the discovery of services.
 */
export const PROMETHEUS: Packages = {
  directory: 'prometheus',
  registry: 'Go modules',
  needs: ['go'],
  install: [
    ['go', 'mod', 'init', 'app'],
    [
      'go',
      'get',
      '-tags',
      'remove_all_sd',
      ...['model/textparse', 'promql', 'tsdb', 'cmd/promtool'].map((name) => `${MODULE}/${name}@${VERSION}`),
    ],
  ],
  build: [
    ['go', 'build', '-o', 'scrape', 'scrape.go'],
    ['go', 'build', '-tags', 'remove_all_sd', '-o', 'promtool', `${MODULE}/cmd/promtool`],
  ],
};

/** The schema of Grafana's dashboards, in a program that reads them. */
export const GRAFANA: Packages = {
  directory: 'grafana',
  registry: 'Go modules',
  needs: ['go'],
  install: [
    ['go', 'mod', 'init', 'app'],
    [
      'go',
      'get',
      ...['cog/plugins', 'dashboard'].map(
        (name) => `github.com/grafana/grafana-foundation-sdk/go/${name}@v0.0.22`,
      ),
    ],
  ],
  build: [['go', 'build', '-o', 'dashboards', 'dashboards.go']],
};
