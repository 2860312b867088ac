import { gzipSync } from 'node:zlib';
import { fromBinary } from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { Client, Metadata, compressionAlgorithms, credentials, status } from '@grpc/grpc-js';
import { StatusSchema } from '../../../src/sources/otlp/generated/google/rpc/status_pb.js';
import type { Signal } from './otlp.js';

export const PATHS: Readonly<Record<Signal, string>> = {
  traces: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  metrics: '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
  logs: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
};

export interface GrpcAnswer {
  code: keyof typeof status;
  details: string;
  trailers: Metadata;
  /** The response; empty after an error. */
  bytes: Buffer;
}

/** The client of the package, as SDKs in Node.js send. */
export class GrpcSender {
  private readonly client: Client;
  private readonly packed: Client;

  constructor(
    address: string,
    private readonly token: string | undefined,
  ) {
    const insecure = credentials.createInsecure();
    // A connection of its own for each sender.
    const options = { 'grpc.use_local_subchannel_pool': 1 };
    this.client = new Client(address, insecure, options);
    const gzip = { 'grpc.default_compression_algorithm': compressionAlgorithms.gzip };
    this.packed = new Client(address, insecure, { ...options, ...gzip });
  }

  send(
    signal: Signal,
    body: Buffer,
    {
      gzip = false,
      metadata = {},
      deadlineMs = 60_000,
    }: { gzip?: boolean; metadata?: Record<string, string>; deadlineMs?: number } = {},
  ): Promise<GrpcAnswer> {
    const sent = new Metadata();
    if (this.token !== undefined) sent.set('authorization', `Bearer ${this.token}`);
    for (const [name, value] of Object.entries(metadata)) sent.set(name, value);
    return new Promise((resolve) => {
      const asBytes = (bytes: Buffer) => bytes;
      let response: Buffer = Buffer.alloc(0);
      const call = (gzip ? this.packed : this.client).makeUnaryRequest(
        PATHS[signal],
        asBytes,
        asBytes,
        body,
        sent,
        { deadline: Date.now() + deadlineMs },
        (_, bytes: Buffer = Buffer.alloc(0)) => (response = bytes),
      );
      // The last of its events.
      call.on('status', ({ code, details, metadata: trailers }) => {
        resolve({ code: status[code] as keyof typeof status, details, trailers, bytes: response });
      });
    });
  }

  close(): void {
    this.client.close();
    this.packed.close();
  }
}

/** The seconds of the `RetryInfo` of an error; undefined without one. */
export function readRetryDelay({ trailers }: GrpcAnswer): number | undefined {
  const [bytes] = trailers.get('grpc-status-details-bin');
  if (bytes === undefined) return undefined;
  const [detail] = fromBinary(StatusSchema, bytes as Buffer).details;
  if (detail?.typeUrl !== 'type.googleapis.com/google.rpc.RetryInfo') return undefined;
  const info = new BinaryReader(detail.value);
  info.tag();
  const duration = new BinaryReader(info.bytes());
  duration.tag();
  return Number(duration.int64());
}

/** A message with its prefix, as it is in the stream of a call. */
export function frame(message: Buffer, { gzip = false } = {}): Buffer {
  const body = gzip ? gzipSync(message) : message;
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(gzip ? 1 : 0, 0);
  prefix.writeUInt32BE(body.length, 1);
  return Buffer.concat([prefix, body]);
}
