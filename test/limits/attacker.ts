import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ServiceProcess } from '../collector/setup/service-process.js';
import { type Sample, countByStatus, request } from './http.js';
import type { Team } from './template.js';

type Kind = 'startup' | 'sync' | 'log';

/** A message that can be sent any number of times. */
export interface Prepared {
  kind: Kind;
  body: Uint8Array<ArrayBuffer>;
}

/** The statuses after which client libraries send a message again. */
const REPEATED = new Set([408, 429, 500, 502, 503, 504]);
const REPEAT_AFTER_MS = 100;

/** A team with an app that does harm, and the responses that it got. */
export class Attacker {
  private readonly samples: Pick<Sample, 'status' | 'ms'>[] = [];

  constructor(
    readonly team: Team,
    private readonly service: Pick<ServiceProcess, 'apiUrl' | 'collectorUrl'>,
  ) {}

  get responses(): Record<string, number> {
    return countByStatus(this.samples);
  }

  get slowestResponseMs(): number {
    return Math.round(Math.max(0, ...this.samples.map(({ ms }) => ms)));
  }

  /** Sends a message once. */
  async send({ kind, body }: Prepared, env = 'prod', uuid: string = randomUUID()): Promise<Sample> {
    const query = kind === 'log' ? `?uuid=${uuid}` : '';
    const url = `${this.service.collectorUrl}/v2/${this.team.clientId}/${env}/${kind}${query}`;
    return this.note(await request(url, { method: 'POST', body }));
  }

  /** Sends a message as client libraries do, again until it is accepted or refused for good; resolves to all statuses. */
  async deliver(message: Prepared, env = 'prod'): Promise<number[]> {
    const uuid = randomUUID();
    const statuses: number[] = [];
    for (;;) {
      const { status } = await this.send(message, env, uuid);
      statuses.push(status);
      if (!REPEATED.has(status)) return statuses;
      await pause(REPEAT_AFTER_MS);
    }
  }

  async read(path: string, headers: Record<string, string> = {}): Promise<Sample> {
    const all = { 'api-key': this.team.key, ...headers };
    return this.note(await request(this.service.apiUrl + path, { headers: all }));
  }

  /** Counts a response that came another way. */
  note<S extends Pick<Sample, 'status' | 'ms'>>(sample: S): S {
    this.samples.push({ status: sample.status, ms: sample.ms });
    return sample;
  }
}
