import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readDashboard } from '../setup/grafana.js';
import { findObstacle, locate } from './packages.js';
import { GRAFANA } from './prometheus.js';

const run = promisify(execFile);

const obstacle = findObstacle(GRAFANA);
if (obstacle !== undefined) process.stderr.write(`skipped: the schema of Grafana, because ${obstacle}\n`);

(obstacle === undefined ? describe : describe.skip)("the schema of Grafana's dashboards", () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'dashboards-'));
  });
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  /** What the schema says against a dashboard. */
  const check = async (dashboard: object) => {
    const file = join(directory, 'dashboard.json');
    writeFileSync(file, JSON.stringify(dashboard));
    return (await run(join(locate(GRAFANA), 'dashboards'), [file])).stdout;
  };

  it.each(['prometheus', 'infinity'] as const)('allows the dashboard for %s', async (name) => {
    const dashboard = readDashboard(name);
    expect(await check(dashboard)).toBe('');
    // The check is one of the whole file: of panels, their options, and queries of Prometheus.
    const [panel, ...panels] = dashboard.panels;
    expect(await check({ ...dashboard, panel: [] })).toContain('panel');
    expect(await check({ ...dashboard, panels: [{ ...panel, colour: 'red' }, ...panels] })).toContain(
      'colour',
    );
    const options = { reduceOptions: 'lastNotNull' };
    expect(await check({ ...dashboard, panels: [{ ...panel, options }, ...panels] })).toContain(
      'reduceOptions',
    );
  });
});
