import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

/** What is asked for again and again. */
export interface Target {
  url: string;
  headers: Readonly<Record<string, string>>;
}

export interface Sample {
  /** 0: no response at all. */
  status: number;
  text: string;
  ms: number;
}

/** Connections that stay open, each with one request at a time. */
export class Connections {
  private readonly agent: Agent;

  constructor(
    private readonly target: Target,
    private readonly count: number,
  ) {
    this.agent = new Agent({ keepAlive: true, maxSockets: count });
  }

  /** Asks on all connections for `seconds`, altogether at most `perSecond` times a second. */
  async press(seconds: number, perSecond = Infinity): Promise<Sample[]> {
    const samples: Sample[] = [];
    const end = performance.now() + seconds * 1000;
    const interval = (this.count * 1000) / perSecond;
    const work = async (index: number) => {
      let due = performance.now() + (index * interval) / this.count;
      while (performance.now() < end) {
        if (due > performance.now()) await pause(due - performance.now());
        due += interval;
        samples.push(await this.call());
      }
    };
    await Promise.all(Array.from({ length: this.count }, (_, index) => work(index)));
    return samples;
  }

  async call(): Promise<Sample> {
    const started = performance.now();
    try {
      const { status, body } = await this.send();
      return { status, text: body, ms: performance.now() - started };
    } catch (error) {
      return { status: 0, text: String(error), ms: performance.now() - started };
    }
  }

  close() {
    this.agent.destroy();
  }

  private send(): Promise<{ status: number; body: string }> {
    const { url, headers } = this.target;
    return new Promise((ok, fail) => {
      const answered = (incoming: IncomingMessage) => {
        text(incoming).then((body) => {
          ok({ status: incoming.statusCode ?? 0, body });
        }, fail);
      };
      request(url, { agent: this.agent, headers }, answered).on('error', fail).end();
    });
  }
}

/** The value below which that share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
