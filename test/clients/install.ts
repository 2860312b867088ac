/**
 * Installs the packages of all senders and generated clients into the cache, side by side; fails if one fails
 * though its registry is there. Arguments are the directories to install, by default all.
 */
import { install } from './packages.js';
import { GENERATED_CLIENTS } from './generated.js';
import { GRAFANA, PROMETHEUS } from './prometheus.js';
import { SENDERS } from './senders.js';

const started = performance.now();
const chosen = process.argv.slice(2);
const installations = [
  ...new Set([...SENDERS, ...GENERATED_CLIENTS].map(({ packages }) => packages)),
  PROMETHEUS,
  GRAFANA,
]
  .filter(({ directory }) => chosen.length === 0 || chosen.includes(directory))
  .map(async (packages) => {
    const result = await install(packages)
      .then((isInstalled) => (isInstalled ? 'installed' : 'not installed'))
      .catch((error: unknown) => {
        process.exitCode = 1;
        return error instanceof Error ? error.message : String(error);
      });
    const seconds = Math.round((performance.now() - started) / 1000);
    process.stderr.write(`${packages.directory}, after ${seconds} s: ${result}\n`);
  });
await Promise.all(installations);
