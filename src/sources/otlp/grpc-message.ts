import type { IncomingHttpHeaders } from 'node:http';
import { type Readable, Transform, type TransformCallback } from 'node:stream';
import type { Disconnectable } from '../../platform/http/abort-signal.middleware.js';
import { ApiError } from '../../platform/http/api-error.js';
import { requestTimeout } from '../../platform/http/request-body.js';
import { RECEIVE_MS } from '../intake/receive-timeout.middleware.js';

/** Before a message: whether it is compressed, and its length in 32 bits. */
const PREFIX_BYTES = 5;

/**
 * The message of a call of gRPC as the body of a request over HTTP. What is written to it is the stream of
 * the call, which has one message.
 */
export class GrpcMessage extends Transform {
  private prefix = Buffer.alloc(0);
  private missing = 0;

  /** @param headers `content-encoding` says how a message is compressed; its prefix says whether it is */
  constructor(
    readonly headers: IncomingHttpHeaders,
    readonly ip: string | undefined,
    readonly res: Disconnectable,
    readonly route: { readonly path: string },
  ) {
    super();
    // It may break off before its reader listens. The reader then finds it destroyed.
    this.on('error', () => undefined);
  }

  /** The stream stays open for the response, also if its message is invalid. */
  readFrom(stream: Readable): void {
    stream.pipe(this);
    stream.once('close', () => this.destroy());
    const timer = setTimeout(() => this.destroy(requestTimeout()), RECEIVE_MS).unref();
    this.once('close', () => {
      clearTimeout(timer);
    });
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    let rest = chunk;
    if (this.prefix.length < PREFIX_BYTES) {
      const all = Buffer.concat([this.prefix, chunk]);
      this.prefix = all.subarray(0, PREFIX_BYTES);
      rest = all.subarray(PREFIX_BYTES);
      if (this.prefix.length === PREFIX_BYTES) this.readPrefix();
    }
    this.missing -= rest.length;
    if (this.missing < 0) done(new ApiError(400, 'body: must be one message'));
    else done(null, rest);
  }

  override _flush(done: TransformCallback): void {
    const isWhole = this.prefix.length === PREFIX_BYTES && this.missing === 0;
    done(isWhole ? null : new ApiError(400, 'body: breaks off before the end of its message'));
  }

  private readPrefix(): void {
    if (this.prefix[0] === 0) this.headers['content-encoding'] = 'identity';
    this.missing = this.prefix.readUInt32BE(1);
  }
}
