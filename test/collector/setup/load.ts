import { setTimeout as pause } from 'node:timers/promises';
import { type PostResponse, post } from './post.js';

/** A message as a library holds it until it is acknowledged. */
export interface Outgoing {
  url: string;
  body: string | Buffer;
  headers?: Readonly<Record<string, string>>;
  /** Entries that its receipt must say are rejected; not looked at when not given. */
  rejected?: number;
}

/** The statuses of acknowledgements: of the hub protocol and of OTLP. */
const ACKNOWLEDGED = new Set([200, 202]);
/** The statuses after which the libraries send the same message again. */
const REPEATED = new Set([408, 429, 500, 502, 503, 504]);
/** The hub's libraries wait 100 to 1,000 ms. */
const PAUSE_MS = 100;

/** Sends messages as many applications do at once: each again, unchanged, until it is acknowledged. */
export class Load {
  acknowledged = 0;
  /** How often a message was sent without an acknowledgement. */
  repeated = 0;
  private at = 0;
  private isStopped = false;

  /** @param pauseMs before a message is sent again */
  constructor(
    private readonly messages: readonly Outgoing[],
    private readonly pauseMs = PAUSE_MS,
  ) {}

  /** Resolves once every message is acknowledged; rejects when one is refused for good. */
  async run(senders: number): Promise<void> {
    await Promise.all(Array.from({ length: senders }, () => this.sendOn()));
  }

  /** Sends nothing any more: the receiver does not come back. */
  stop(): void {
    this.isStopped = true;
  }

  private async sendOn(): Promise<void> {
    for (;;) {
      const message = this.messages[this.at++];
      if (!message) return;
      await this.deliver(message);
      this.acknowledged += 1;
    }
  }

  private async deliver({ url, body, headers, rejected }: Outgoing): Promise<void> {
    while (!this.isStopped) {
      const response: PostResponse | null = await post(url, body, headers).catch(() => null);
      if (
        response &&
        ACKNOWLEDGED.has(response.status) &&
        (response.body.rejected ?? 0) === (rejected ?? response.body.rejected ?? 0)
      )
        return;
      if (response && !REPEATED.has(response.status))
        throw new Error(`${response.status} ${JSON.stringify(response.body)}`);
      this.repeated += 1;
      await pause(this.pauseMs);
    }
  }
}
