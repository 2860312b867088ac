import { availableParallelism } from 'node:os';
import { deserialize } from 'node:v8';
import { MessageChannel } from 'node:worker_threads';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Piscina } from 'piscina';
import { Config } from '../../config/config.js';
import { ApiError } from '../../platform/http/api-error.js';
import { payloadTooLarge } from '../../platform/http/request-body.js';
import { InvalidRecordError } from '../../records/decoding/decoders.js';
import { InnerSpans } from '../../write/batches/inner-spans.js';
import type { Message } from '../../write/batches/message.js';
import { BodyWork, tooLong } from '../intake/body-work.js';
import type { LongLine, ParsedLine } from '../lines/files/long-line.js';
import { ExpandedBodyError } from '../otlp/origin.js';
import { BodyParser, type ParseTask, type ParsedBody } from './body-parser.js';
import type { ThreadData, ThreadResult, ThreadTask } from './parse-thread.js';
import { decodeParts } from './parsed-parts.js';
import { THREAD_FILE } from './thread-file.js';

/**
 * Bodies of up to this size, and packed texts in them of up to this size, stay in the thread of the requests,
 * in slices: what SDKs send regularly. To hand over the records of 512 spans from another thread took a
 * quarter more processor time in all.
 */
const SMALL_BYTES = 1024 * 1024;
/** A thread that waits keeps the memory of its last body. */
const IDLE_MS = 1_000;
/** A body stops by itself at its limit. Its thread is ended only if it does not for this long. */
const GRACE_MS = 5_000;

/**
 * Parses and redacts bodies: large ones in threads of their own, so that the event loop serves others. A body
 * that takes too long or needs too much memory is rejected; at the worst, its thread is ended, which no other
 * body shares.
 */
@Injectable()
export class ParseThreads implements OnApplicationShutdown {
  /** Bodies that may be parsed at once: at least two, so that a sender does not wait for another's body. */
  readonly concurrency = Math.max(2, availableParallelism() - 1);
  private readonly log = new Logger(ParseThreads.name);
  private readonly parser: BodyParser;
  private readonly pool: Piscina<ThreadTask, ThreadResult>;
  private readonly maxHeapMb: number;

  constructor(
    { collector, redaction, countryDatabase }: Config,
    private readonly innerSpans: InnerSpans,
  ) {
    const options = { ...collector, redaction };
    this.parser = new BodyParser(options);
    this.maxHeapMb = collector.maxBodyHeapMb;
    this.pool = new Piscina<ThreadTask, ThreadResult>({
      filename: THREAD_FILE,
      minThreads: 0,
      maxThreads: this.concurrency,
      idleTimeout: IDLE_MS,
      resourceLimits: { maxOldGenerationSizeMb: this.maxHeapMb },
      workerData: { options, countryDatabase } satisfies ThreadData,
    });
    // Of a thread without a body: the error of a body goes to its sender.
    this.pool.on('error', (error) => {
      this.log.error(error);
    });
  }

  /** @throws InvalidRecordError, or ApiError 413, as `BodyParser.parse` does */
  async parse(appId: number, task: ParseTask, body: Buffer, work: BodyWork): Promise<readonly Message[]> {
    // Log files alone are still packed here.
    const isSmall = this.parser.logFileLimit.estimate(body) <= SMALL_BYTES;
    const { messages, waiting } = await (isSmall
      ? this.parseHere(task, body, work)
      : this.parseInThread(task, body, work));
    this.innerSpans.remember(appId, waiting);
    return messages;
  }

  private async parseHere(task: ParseTask, body: Buffer, work: BodyWork): Promise<ParsedBody> {
    try {
      return await this.parser.parse(task, body, work, SMALL_BYTES);
    } catch (error) {
      if (error instanceof ExpandedBodyError) return this.parseInThread(task, body, work);
      throw error;
    }
  }

  private async parseInThread(task: ParseTask, body: Buffer, work: BodyWork): Promise<ParsedBody> {
    return decodeParts(await this.run(task, body, work), work);
  }

  /** Parses and redacts a line, which may wait for the threads. @throws ApiError 413 */
  async parseLine(line: LongLine, bytes: Buffer, work: BodyWork): Promise<ParsedLine> {
    return deserialize(Buffer.concat(await this.run(line, bytes, work))) as ParsedLine;
  }

  async onApplicationShutdown(): Promise<void> {
    // After the bodies that are being parsed.
    await this.pool.close();
  }

  private async run(task: ThreadTask['task'], body: Buffer, work: BodyWork): Promise<Uint8Array[]> {
    const { port1, port2 } = new MessageChannel();
    const stop = () => {
      port1.postMessage(null);
    };
    work.signal.addEventListener('abort', stop);
    const { maxMs, spentMs } = work;
    let startedAt = performance.now();
    const timeout = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    // Lines may wait for a thread, which is no work.
    port1.once('message', () => {
      startedAt = performance.now();
      timer = setTimeout(() => {
        timeout.abort();
      }, maxMs + GRACE_MS);
    });
    try {
      const threadTask: ThreadTask = { task, body, maxMs, spentMs, port: port2 };
      const { buffer } = body;
      const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === body.byteLength;
      const result = await work.wait(
        this.pool.run(threadTask, {
          transferList: [port2, ...(isOwn ? [buffer] : [])],
          signal: timeout.signal,
        }),
      );
      work.spend(result.spentMs);
      work.signal.throwIfAborted();
      if ('invalid' in result) throw new InvalidRecordError(result.invalid);
      if ('status' in result) throw new ApiError(result.status, result.detail, result.headers);
      return result.parts;
    } catch (error) {
      work.signal.throwIfAborted();
      const isOutOfMemory = (error as { code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY';
      if (!isOutOfMemory && !timeout.signal.aborted) throw error;
      // The thread was ended, and did not say how long it worked.
      work.spend(performance.now() - startedAt);
      throw isOutOfMemory
        ? payloadTooLarge(`needs more than ${this.maxHeapMb} MB of memory (COLLECTOR_MAX_BODY_HEAP_MB)`)
        : tooLong(maxMs);
    } finally {
      clearTimeout(timer);
      work.signal.removeEventListener('abort', stop);
      port1.close();
    }
  }
}
