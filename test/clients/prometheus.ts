import type { Packages } from './packages.js';

const VERSION = 'v0.305.0';
const MODULE = 'github.com/prometheus/prometheus';

/** The parser, database and query engine of Prometheus, in a program that reads scrapes from files. */
export const PROMETHEUS: Packages = {
  directory: 'prometheus',
  registry: 'Go modules',
  needs: ['go'],
  install: [
    ['go', 'mod', 'init', 'app'],
    ['go', 'get', ...['model/textparse', 'promql', 'tsdb'].map((name) => `${MODULE}/${name}@${VERSION}`)],
  ],
  build: [['go', 'build', '-o', 'scrape', 'scrape.go']],
};
