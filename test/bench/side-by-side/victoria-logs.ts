import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { CommandOptions, Ran } from '../command.js';
import { freePort } from '../peers/postgres-cluster.js';
import { type Keeper, type Place, type Requests, findProgram, sumFileBytes } from './keeper.js';
import { type Server, runServer, sendFile } from './server.js';

const LOOK_EVERY_MS = 100;
const RUNNING_MERGES = /^vl_active_force_merges(?:\{[^}]*\})? ([1-9]\d*)$/m;

/** A database of logs. It reads no access logs: a shipper in front of it parses them, at its own cost. */
export class VictoriaLogs implements Keeper {
  readonly name = 'VictoriaLogs';
  readonly how = 'POST /insert/jsonline, lines parsed before';
  readonly format = 'jsonline';
  readonly program = findProgram('VICTORIA_LOGS', 'victoria-logs');
  readonly installation = 'go install github.com/VictoriaMetrics/VictoriaLogs/app/victoria-logs@latest';

  take(place: Place, file: string, kill?: CommandOptions['kill']): Promise<Ran> {
    // With another type it takes the body for a form.
    const headers = { 'Content-Type': 'application/stream+json' };
    const text = readFileSync(file, 'utf8');
    return this.run(place, (url, server) =>
      sendFile(`${url}/insert/jsonline?_time_field=_time&_msg_field=_msg`, headers, text, server, kill),
    );
  }

  async count(place: Place): Promise<Requests> {
    const { output } = await this.run(place, (url) =>
      get(`${url}/select/logsql/query?query=${encodeURIComponent('* | stats count() as lines')}`),
    );
    const { lines } = JSON.parse(output) as { lines: string };
    return { counted: Number(lines), kept: Number(lines) };
  }

  async merge(place: Place): Promise<number> {
    await this.run(place, async (url) => {
      await get(`${url}/internal/force_flush`);
      await get(`${url}/internal/force_merge`);
      do await wait(LOOK_EVERY_MS);
      while (RUNNING_MERGES.test(await get(`${url}/metrics`)));
      return '';
    });
    return sumFileBytes(place.directory);
  }

  private async run(
    { directory, log }: Place,
    use: (url: string, server: Server) => Promise<string>,
  ): Promise<Ran> {
    const address = `127.0.0.1:${await freePort()}`;
    const args = [`-storageDataPath=${directory}`, `-httpListenAddr=${address}`, '-retentionPeriod=30d'];
    const url = `http://${address}`;
    return runServer(this.program ?? '', args, { log, readyUrl: `${url}/health` }, (server) =>
      use(url, server),
    );
  }
}

async function get(url: string): Promise<string> {
  const response = await fetch(url);
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return text;
}
