import { type IncomingHttpHeaders, type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

interface WebhookBody {
  version: string;
  status: string;
  alerts: {
    status: string;
    labels: Record<string, string>;
    annotations: Record<string, string>;
    startsAt: string;
    endsAt: string;
    generatorURL: string;
    fingerprint: string;
  }[];
}

/** A receiver of webhooks on a real socket. */
export class WebhookReceiver {
  readonly received: Received[] = [];
  status = 200;
  headers: Record<string, string> = {};
  private constructor(private readonly server: Server) {}

  static async start(): Promise<WebhookReceiver> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        receiver.received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
        response.writeHead(receiver.status, receiver.headers).end('ignored');
      });
    });
    const receiver = new WebhookReceiver(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook?token=hidden-token`;
  }

  get bodies(): WebhookBody[] {
    return this.received.map(({ body }) => JSON.parse(body) as WebhookBody);
  }

  get told(): string[] {
    return this.bodies.flatMap(({ alerts }) =>
      alerts.map(({ status, labels }) => `${labels.alertname ?? ''} ${status}`),
    );
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => {
      this.server.close(() => {
        resolve();
      });
    });
  }
}
