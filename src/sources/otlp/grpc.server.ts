import { EventEmitter, once } from 'node:events';
import { type ServerHttp2Stream, constants } from 'node:http2';
import type { IncomingHttpHeaders } from 'node:http';
import { type Server as Listener, type Socket, createServer } from 'node:net';
import {
  type ConnectionInjector,
  Metadata,
  Server,
  ServerCredentials,
  type ServerInterceptingCallInterface,
  ServerInterceptingCall,
  type ServerInterceptor,
  status,
} from '@grpc/grpc-js';
import { Logger as NestLogger } from '@nestjs/common';
import type { Logger } from 'pino';
import { beginRequest } from '../../platform/http/access-log.js';
import { ClientDisconnected } from '../../platform/http/abort-signal.middleware.js';
import { ApiExceptionFilter } from '../../platform/http/exception.filter.js';
import { MAX_CONNECTIONS } from '../../platform/http/http.adapter.js';
import { manageIdleConnections } from '../../platform/http/idle-connections.js';
import { listen } from '../../platform/http/listen.js';
import { resolveRequestId } from '../../platform/http/request-id.middleware.js';
import type { Telemetry } from '../../telemetry/telemetry.js';
import { OTLP_MEDIA_TYPES } from './encoding.js';
import { LogsService } from './generated/opentelemetry/proto/collector/logs/v1/logs_service_pb.js';
import { MetricsService } from './generated/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.js';
import { TraceService } from './generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.js';
import { GrpcMessage } from './grpc-message.js';
import { toGrpcStatus } from './grpc-status.js';
import type { Signal } from './items.js';
import type { OtlpService } from './otlp.service.js';
import { encodeOutcome } from './outcome.js';

/** The signals by the paths of their methods. */
const SIGNALS: ReadonlyMap<string, Signal> = new Map([
  [`/${TraceService.typeName}/Export`, 'traces'],
  [`/${MetricsService.typeName}/Export`, 'metrics'],
  [`/${LogsService.typeName}/Export`, 'logs'],
]);

const OPTIONS = {
  'grpc.max_concurrent_streams': 100,
  // Closes the connection of a client that does not read, or is gone.
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.max_connection_idle_ms': 300_000,
  // As Node.js has it, in MB; the package's own default is no limit.
  'grpc-node.max_session_memory': 10,
  'grpc.enable_channelz': 0,
};
/** What to set `COLLECTOR_GRPC_PORT` to where another program has the port, such as a local Collector. */
export const GRPC_CURE = 'a free port, or to off';
/** Longest time that a client takes for the few bytes of a response. */
const READ_WITHIN_MS = 5_000;
/** Longest time that calls have to end when the server stops. */
const STOP_WITHIN_MS = 8_000;
/** The longest time of a timer: the limits of a call end it. */
const NEVER_MS = 2 ** 31 - 1;

/**
 * What the service needs to know of a call that the package has as private fields: it would keep and unpack a
 * message before the limits of its app are known.
 */
interface OpenCall {
  readonly stream: ServerHttp2Stream;
  readonly incomingEncoding: string;
}

interface OpenedCall extends OpenCall {
  readonly path: string;
  readonly call: ServerInterceptingCallInterface;
  readonly metadata: Metadata;
  /** Emits `close` when nobody waits for the response any more. */
  readonly response: EventEmitter & { writableFinished: boolean };
}

/** OTLP over gRPC: each call is a request to the same service as over HTTP. */
export class GrpcServer {
  private readonly server: Server;
  private readonly injector: ConnectionInjector;
  private readonly listener: Listener;
  /** Open connections by the address and port of the client. */
  private readonly sockets = new Map<string, Socket>();
  private readonly errors = new ApiExceptionFilter();
  private readonly log = new NestLogger('Collector');

  /** @param findAddress the address of a client, from that of its connection and from `x-forwarded-for` */
  constructor(
    private readonly service: OtlpService,
    private readonly logger: Logger,
    private readonly telemetry: Telemetry,
    private readonly findAddress: (headers: IncomingHttpHeaders, socket: Socket) => string | undefined,
  ) {
    this.server = new Server({ ...OPTIONS, interceptors: [this.intercept] });
    const asBytes = (message: Buffer) => message;
    for (const path of SIGNALS.keys()) {
      const types = { requestStream: false, responseStream: false } as const;
      const request = { requestSerialize: asBytes, requestDeserialize: asBytes };
      const response = { responseSerialize: asBytes, responseDeserialize: asBytes };
      // The interceptor answers.
      this.server.addService(
        { Export: { path, ...types, ...request, ...response } },
        { Export: () => undefined },
      );
    }
    this.injector = this.server.createConnectionInjector(ServerCredentials.createInsecure());
    this.listener = createServer((socket) => {
      this.connect(socket);
    });
    this.listener.maxConnections = MAX_CONNECTIONS;
    manageIdleConnections(this.listener);
  }

  /** Where connections arrive, which are limited as those of HTTP. */
  get connections(): Listener {
    return this.listener;
  }

  listen(port: number, host: string): Promise<void> {
    return listen(this.listener, 'COLLECTOR_GRPC_PORT', port, host, GRPC_CURE);
  }

  /** Ends the connections, each after its calls; clients open new ones, elsewhere if they can. */
  drain(): void {
    this.injector.drain(NEVER_MS);
  }

  /** Accepts no more connections, and resolves once all calls have ended. */
  async stop(): Promise<void> {
    if (!this.listener.listening) return;
    const closed = once(this.listener, 'close');
    this.listener.close();
    this.server.tryShutdown(() => undefined);
    const force = setTimeout(() => {
      for (const socket of this.sockets.values()) socket.destroy();
    }, STOP_WITHIN_MS);
    await closed;
    clearTimeout(force);
  }

  private connect(socket: Socket): void {
    const key = `${socket.remoteAddress}:${socket.remotePort}`;
    this.sockets.set(key, socket);
    socket.once('close', () => {
      if (this.sockets.get(key) === socket) this.sockets.delete(key);
    });
    this.injector.injectConnection(socket);
  }

  private readonly intercept: ServerInterceptor = ({ path }, call) => {
    const { stream, incomingEncoding } = call as unknown as OpenCall;
    stream.removeAllListeners('data');
    const response = Object.assign(new EventEmitter(), { writableFinished: false });
    return new ServerInterceptingCall(call, {
      start: (next) => {
        next({
          onReceiveMetadata: (metadata) => {
            void this.answer({ path, call, stream, incomingEncoding, metadata, response });
          },
          // The client has disconnected, or its deadline is over; also after a response.
          onCancel: () => response.emit('close'),
        });
      },
    });
  };

  private async answer(opened: OpenedCall): Promise<void> {
    const { path, call, stream, incomingEncoding, metadata, response } = opened;
    const signal = SIGNALS.get(path) ?? 'traces';
    const socket = this.sockets.get(call.getPeer());
    if (socket) this.listener.emit('request', { socket }, stream);
    const headers: IncomingHttpHeaders = {
      ...toHeaders(metadata),
      'content-type': OTLP_MEDIA_TYPES.protobuf,
      'content-encoding': incomingEncoding,
    };
    const requestId = resolveRequestId(headers['x-request-id']);
    const { context, end } = beginRequest(this.logger, this.telemetry, {
      method: 'POST',
      headers,
      requestId,
    });
    const ended = { status: 200, grpcStatus: status.OK, isClientClosed: false };
    stream.once('close', () => {
      const isClientClosed = ended.isClientClosed || !stream.writableFinished;
      end({ ...ended, route: path, isClientClosed, grpcStatus: status[ended.grpcStatus] });
    });
    const trailers = new Metadata();
    trailers.set('x-request-id', requestId);
    const message = new GrpcMessage(headers, socket && this.findAddress(headers, socket), response, { path });
    message.readFrom(stream);
    try {
      const outcome = await context.run(() => this.service.export(signal, message));
      call.sendMessage(encodeOutcome(signal, outcome), () => {
        call.sendStatus({ code: status.OK, details: 'OK', metadata: trailers });
      });
    } catch (error) {
      if (error instanceof ClientDisconnected) {
        Object.assign(ended, { isClientClosed: true, grpcStatus: status.CANCELLED });
        return;
      }
      const mapped = this.errors.mapError(error);
      const answer = toGrpcStatus(mapped);
      Object.assign(ended, { status: mapped.getStatus(), grpcStatus: answer.code });
      answer.metadata.merge(trailers);
      call.sendStatus(answer);
    } finally {
      response.writableFinished = true;
      this.closeUnread(stream, requestId);
    }
  }

  /** Closes a stream whose client does not read its response, or still sends. */
  private closeUnread(stream: ServerHttp2Stream, requestId: string): void {
    if (stream.closed) return;
    const timer = setTimeout(() => {
      this.log.warn(`a call was closed: its client does not end it (request ${requestId})`);
      this.telemetry.metrics?.countCutReader('slow');
      stream.close(constants.NGHTTP2_CANCEL);
    }, READ_WITHIN_MS).unref();
    stream.once('close', () => {
      clearTimeout(timer);
    });
  }
}

/** The metadata of a call as headers of a request. */
function toHeaders(metadata: Metadata): IncomingHttpHeaders {
  const texts = Object.entries(metadata.getMap()).filter(([, value]) => typeof value === 'string');
  return Object.fromEntries(texts) as IncomingHttpHeaders;
}
