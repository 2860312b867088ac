import { once } from 'node:events';
import { type IncomingHttpHeaders, type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { eventually } from './eventually.js';
import { captureOutput } from './secrets/run.js';

/** A span as it arrives. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  /** SERVER is 2, CLIENT 3. */
  kind: number;
  attributes: Record<string, string | number>;
  /** ERROR is 2. */
  status: number;
}

interface Sent {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

interface Value {
  stringValue?: string;
  intValue?: string | number;
}
interface Exported {
  resourceSpans: {
    resource: { attributes: { key: string; value: Value }[] };
    scopeSpans: {
      spans: (Omit<ReceivedSpan, 'attributes' | 'status'> & {
        attributes: { key: string; value: Value }[];
        status: { code?: number };
      })[];
    }[];
  }[];
}

/** What OpenTelemetry's collector is to the service: takes traces over HTTP. */
export class TraceReceiver {
  readonly sent: Sent[] = [];

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  /** @param answers whether it ever does */
  static async start({ answers = true } = {}): Promise<TraceReceiver> {
    const server = createServer((request, response) => {
      void buffer(request).then((body) => {
        receiver.sent.push({ path: request.url ?? '', headers: request.headers, body });
        captureOutput('traces', body);
        if (answers) response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const receiver = new TraceReceiver(server, `http://127.0.0.1:${port}`);
    return receiver;
  }

  /** All that came, as text. */
  get text(): string {
    return this.sent.map(({ body }) => body.toString('latin1')).join('\n');
  }

  /** What came as JSON. */
  get spans(): ReceivedSpan[] {
    return this.exported().flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) =>
        spans.map(({ attributes, status, ...span }) => ({
          ...span,
          attributes: values(attributes),
          status: status.code ?? 0,
        })),
      ),
    );
  }

  get resource(): Record<string, string | number> {
    return values(this.exported()[0]?.resource.attributes ?? []);
  }

  /** The spans of a trace, once the request's own is there, which ends last. */
  trace(traceId: string): Promise<ReceivedSpan[]> {
    return eventually(() => {
      const spans = this.spans.filter((span) => span.traceId === traceId);
      return spans.some(({ kind }) => kind === 2) && spans;
    });
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private exported(): Exported['resourceSpans'] {
    return this.sent.flatMap(({ body }) => (JSON.parse(body.toString()) as Exported).resourceSpans);
  }
}

function values(attributes: readonly { key: string; value: Value }[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]),
  );
}
