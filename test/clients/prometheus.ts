import type { Packages } from './packages.js';

const VERSION = 'v0.316.0';
const MODULE = 'github.com/prometheus/prometheus';

/** The parser and the query engine of Prometheus, in a program that reads scrapes from files. */
export const PROMETHEUS: Packages = {
  directory: 'prometheus',
  registry: 'Go modules',
  needs: ['go'],
  install: [
    ['go', 'mod', 'init', 'app'],
    ['go', 'get', ...['model/textparse', 'promql'].map((name) => `${MODULE}/${name}@${VERSION}`)],
  ],
  build: [['go', 'build', '-o', 'scrape', 'scrape.go']],
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
