import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ProductProcess } from '../setup/product-process.js';
import { type Sample, countByStatus, request } from './http.js';
import { type Prepared, renewed } from './messages.js';
import type { RawConnection } from './raw-connection.js';
import type { Team } from './template.js';

/** The statuses after which client libraries send a message again. */
const REPEATED = new Set([408, 429, 500, 502, 503, 504]);
const REPEAT_AFTER_MS = 100;

/** A team with an app that does harm, and the responses that it got. */
export class Attacker {
  private samples: Pick<Sample, 'status' | 'ms'>[] = [];

  constructor(
    readonly team: Team,
    readonly service: Pick<ProductProcess, 'apiUrl' | 'collectorUrl'>,
  ) {}

  /** Responses by status since the last `forget`. */
  get responses(): Record<string, number> {
    return countByStatus(this.samples);
  }

  get slowestResponseMs(): number {
    return Math.round(Math.max(0, ...this.samples.map(({ ms }) => ms)));
  }

  forget(): void {
    this.samples = [];
  }

  /** Sends a message once, as a new one unless it has a UUID. */
  async send({ kind, body }: Prepared, env = 'prod', uuid: string = randomUUID()): Promise<Sample> {
    const query = kind === 'log' ? `?uuid=${uuid}` : '';
    const url = `${this.service.collectorUrl}/v2/${this.team.clientId}/${env}/${kind}${query}`;
    return this.note(await request(url, { method: 'POST', body: renewed(kind, body, uuid) }));
  }

  /**
   * Sends a message as client libraries do, again until it is accepted or refused for good; resolves to all
   * statuses.
   */
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

  deliverAll(messages: readonly Prepared[]): Promise<number[][]> {
    return Promise.all(messages.map((message) => this.deliver(message)));
  }

  /** Reads what is below its app. */
  async read<Body>(path: string): Promise<Body> {
    const url = `${this.service.apiUrl}/v1/apps/${this.team.appId}/${path}`;
    const { status, text } = this.note(await request(url, { headers: { 'api-key': this.team.key } }));
    if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 200)}`);
    return JSON.parse(text) as Body;
  }

  /** Counts the responses that came over a connection. */
  noteAll({ statuses, ageMs }: RawConnection): void {
    for (const status of statuses.length > 0 ? statuses : [0]) this.note({ status, ms: ageMs });
  }

  note<S extends Pick<Sample, 'status' | 'ms'>>(sample: S): S {
    this.samples.push({ status: sample.status, ms: sample.ms });
    return sample;
  }
}
