import { once } from 'node:events';
import {
  Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
  createServer,
  request,
} from 'node:http';
import type { AddressInfo } from 'node:net';

const ASK_EVERY_MS = 100;

/** An instance of the service, as the balancer sees it. */
interface Backend {
  port: number;
  agent: Agent;
  isReady: boolean;
  /** Responses that it gave. */
  responses: number;
}

/**
 * A load balancer as there are many: takes requests in turns to the instances that say they are ready, over
 * kept-alive connections, asks each every 100 ms, and repeats nothing.
 */
export class Balancer {
  private turn = 0;
  private readonly asking: NodeJS.Timeout;
  private readonly backends: Backend[];
  private readonly server = createServer((incoming, outgoing) => {
    this.pass(incoming, outgoing);
  });

  private constructor(ports: readonly number[]) {
    this.backends = ports.map((port) => {
      return { port, agent: new Agent({ keepAlive: true }), isReady: false, responses: 0 };
    });
    this.asking = setInterval(() => {
      for (const backend of this.backends) void this.askWhetherReady(backend);
    }, ASK_EVERY_MS);
  }

  /** Listens once every instance is ready. */
  static async start(ports: readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(ports);
    await Promise.all(balancer.backends.map((backend) => balancer.askWhetherReady(backend)));
    balancer.server.listen(0, '127.0.0.1');
    await once(balancer.server, 'listening');
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** By instance, whether it takes part. */
  get ready(): boolean[] {
    return this.backends.map(({ isReady }) => isReady);
  }

  /** By instance, how many responses it gave so far. */
  get responses(): number[] {
    return this.backends.map(({ responses }) => responses);
  }

  async stop(): Promise<void> {
    clearInterval(this.asking);
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
    for (const { agent } of this.backends) agent.destroy();
  }

  private pass(incoming: IncomingMessage, outgoing: ServerResponse) {
    const ready = this.backends.filter(({ isReady }) => isReady);
    const backend = ready[this.turn++ % ready.length];
    const refuse = (why: string) => outgoing.writeHead(502, { 'X-Balancer': why }).end();
    if (!backend) {
      refuse('no instance');
      return;
    }
    const { port, agent } = backend;
    const { method, url: path, headers } = incoming;
    const asked = request({ host: '127.0.0.1', port, agent, method, path, headers: passed(headers) });
    asked.on('error', (error: NodeJS.ErrnoException) => refuse(error.code ?? error.message));
    asked.on('response', (response) => {
      backend.responses += 1;
      outgoing.writeHead(response.statusCode ?? 502, passed(response.headers));
      response.on('error', () => outgoing.destroy()).pipe(outgoing);
    });
    incoming.pipe(asked);
  }

  private async askWhetherReady(backend: Backend): Promise<void> {
    backend.isReady = await fetch(`http://127.0.0.1:${backend.port}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  }
}

/** Without what is said between two neighbours alone. */
function passed(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const rest = { ...headers };
  delete rest.connection;
  delete rest['keep-alive'];
  return rest;
}
