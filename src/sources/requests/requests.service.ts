import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Config } from '../../config/config.js';
import { ApiError, rateLimitExceeded, serviceUnavailable } from '../../platform/http/api-error.js';
import { decodeQueryText, parseRawQuery } from '../../platform/http/raw-query.js';
import { payloadTooLarge, streamBody, usesGzip } from '../../platform/http/request-body.js';
import { FairShares, NoRoom } from '../../shared/fair-shares.js';
import { gunzip, isGzip } from '../decoding/gunzip.js';
import {
  type ImportOptions,
  type ImportSummary,
  Importer,
  LONG_LINE_BYTES,
} from '../lines/files/importer.js';
import { SOURCE_RULE, isSource } from '../lines/files/line-identity.js';
import { LineSplitter } from '../decoding/line-splitter.js';
import { removePadding } from '../lines/files/nul-padding.js';
import { BASE_URL_RULE, parseBaseUrl } from '../lines/formats/parsed-request.js';
import { envDecoder } from '../decoding/request-decoders.js';
import { type FormatChoice, parseFormatChoice } from '../lines/formats/request-format.js';
import { MAX_RECORD_BYTES } from '../../records/limits.js';
import { RequestsWriter } from '../../write/requests.writer.js';
import type { BodyWork } from '../intake/body-work.js';
import type { ClientApp } from '../../access/tokens/client-apps.js';
import { MessageIntake } from '../intake/message-intake.js';
import { ParseThreads } from '../parsing/parse-threads.js';
import { liftReceiveLimit } from '../intake/receive-timeout.middleware.js';
import { TokenAuthentication } from '../intake/token-authentication.js';
import { UnpackLimit } from '../intake/unpack-limit.js';

const KIND = 'requests';
const DEFAULT_ENV = 'prod';
const DEFAULT_FORMAT = 'ndjson';
/**
 * Largest number of bodies at once, over all apps. An app has at most one, so that two of its bodies do not
 * wait for each other's requests.
 */
const MAX_BODIES = 2;
/** A body that has waited longer than this for its sender makes room for a body of another app. */
const MAX_SENDER_WAIT_MS = 10_000;
const RETRY_AFTER_SECONDS = 1;
/**
 * Including blank and rejected lines. The largest body has this many lines of the shortest requests of an
 * access log.
 */
const MAX_LINES = 2_000_000;
/** If as many lines at the beginning of a body are rejected, it has another format: the rest is not read. */
const MAX_REJECTED = 100_000;
/** Memory reserved for the rows of a body: one batch is committed, one is encoded and one is read. */
const RESERVED_BYTES = 15 * 1024 * 1024;
const REASONS_SHOWN = 10;

/** The result for the lines of a body. */
export interface ImportResult extends ImportSummary {
  /** The reasons of rejected lines, the most frequent first, with the numbers of their first lines. */
  reasons: readonly { reason: string; count: number; lines: readonly number[] }[];
}

/** A body that is being read. */
interface OpenBody {
  readonly app: ClientApp;
  readonly abort: AbortController;
  /** Milliseconds for which the body has waited for its sender. */
  waitedMs: number;
  /** Gives its place back. */
  readonly close: () => void;
}

/** Stores the requests of bodies of lines, with the rules of the file import. */
@Injectable()
export class RequestsService {
  private readonly maxBytes: number;
  private readonly unpackLimit: UnpackLimit;
  /** The open bodies; the oldest comes first. */
  private readonly open = new Set<OpenBody>();
  private readonly places = new FairShares(MAX_BODIES, 1);

  constructor(
    private readonly authentication: TokenAuthentication,
    private readonly intake: MessageIntake,
    private readonly writer: RequestsWriter,
    private readonly threads: ParseThreads,
    { collector }: Config,
  ) {
    this.maxBytes = collector.maxRequestsBytes;
    this.unpackLimit = new UnpackLimit(this.maxBytes, collector.maxUnpackRatio);
  }

  /**
   * Resolves once every valid line is stored. A body may be sent again, also after an error: its requests are
   * in the store once.
   *
   * @throws ApiError 413 for a body beyond the limit, 422 if no line is valid, 503 if the store fails; what
   *   was read before an error is stored, except after 503
   */
  import(request: Request): Promise<ImportResult> {
    return this.intake.countOutcome(KIND, async () => {
      const app = await this.authentication.requireApp(request);
      const query = readQuery(request.originalUrl);
      const isCompressed = usesGzip(request);
      return this.intake.accept(app, request, { kind: KIND, env: query.env }, async (reservation, work) => {
        reservation.admit(RESERVED_BYTES);
        const body = this.openBody(app);
        liftReceiveLimit(request);
        try {
          const options = { ...query, appId: app.id, now: Date.now(), work };
          return await this.importLines(
            removePadding(this.readBytes(request, isCompressed, body)),
            options,
            work,
          );
        } finally {
          body.close();
        }
      });
    });
  }

  /** @throws ApiError 429 if another body of the app is open, 503 if there is no place for the body */
  private openBody(app: ClientApp): OpenBody {
    if ([...this.open].some((body) => body.app.id === app.id)) throw rateLimitExceeded(RETRY_AFTER_SECONDS);
    const abort = new AbortController();
    const body: OpenBody = {
      app,
      abort,
      waitedMs: 0,
      close: () => {
        giveBack();
        this.open.delete(body);
      },
    };
    const giveBack = this.takePlace(body);
    this.open.add(body);
    return body;
  }

  /**
   * Takes a place. The later of two bodies of another team ends for it, or a body whose sender is slow if two
   * other teams have a place each. So neither keeps others out. The sender sends the body again.
   */
  private takePlace(body: OpenBody): () => void {
    const holder = {
      team: body.app.team_id,
      amount: 1,
      // The one that began first gets to its end.
      waitedMs: () => 0,
      end: () => {
        this.end(body);
      },
    };
    try {
      return this.places.take(holder);
    } catch (error) {
      if (!(error instanceof NoRoom)) throw error;
      const slow = [...this.open].find(({ waitedMs }) => waitedMs > MAX_SENDER_WAIT_MS);
      if (error.because === 'team' || !slow) throw serviceUnavailable();
      this.end(slow);
      return this.places.take(holder);
    }
  }

  private end(body: OpenBody): void {
    body.close();
    body.abort.abort(
      new ApiError(503, 'Too many bodies are being sent at once: send this one again', {
        'Retry-After': '1',
        Connection: 'close',
      }),
    );
  }

  private async importLines(
    chunks: AsyncGenerator<Buffer>,
    options: ImportOptions,
    work: BodyWork,
  ): Promise<ImportResult> {
    const importer = new Importer(this.writer, {
      ...options,
      parseLong: (bytes, line) => this.threads.parseLine(line, bytes, work),
    });
    const splitter = new LineSplitter(MAX_RECORD_BYTES, MAX_LINES, undefined, LONG_LINE_BYTES);
    const nextChunk = () => work.wait(chunks.next());
    try {
      for (let next = await nextChunk(); next.done !== true; next = await nextChunk()) {
        await this.intake.mapToUnavailable(importer.add(splitter.push(next.value)));
        if (splitter.isExceeded) throw payloadTooLarge(`has more than ${MAX_LINES} lines`);
        const { read, rejected } = importer.summary;
        if (rejected === read && read >= MAX_REJECTED) throw noValidLine(importer);
      }
      await this.intake.mapToUnavailable(importer.add(splitter.end()));
    } finally {
      // Also after an error of the body: the lines read so far are stored, so the next attempt is shorter.
      await work.wait(this.intake.mapToUnavailable(importer.end()));
      await chunks.return(undefined);
    }
    const groups = importer.rejectedLines.list().slice(0, REASONS_SHOWN);
    const reasons = groups.map(({ reason, count, first }) => ({ reason, count, lines: first }));
    const { read, rejected } = importer.summary;
    if (read > 0 && rejected === read) throw noValidLine(importer);
    return { ...importer.summary, reasons };
  }

  /** The bytes of a body, unpacked. */
  private async *readBytes(request: Request, isCompressed: boolean, body: OpenBody): AsyncGenerator<Buffer> {
    let received = 0;
    const chunks = streamBody(request, this.maxBytes, body.abort.signal, (ms, bytes) => {
      body.waitedMs += ms;
      received += bytes;
    });
    let length = 0;
    for await (const bytes of isCompressed ? unpack(chunks) : chunks) {
      if (length === 0 && isGzip(bytes))
        throw new ApiError(
          400,
          `body: is gzip${isCompressed ? ', twice' : ' without Content-Encoding: gzip'}`,
        );
      length += bytes.length;
      if (length > this.unpackLimit.find(received)) throw this.unpackLimit.explain(received);
      yield bytes;
    }
  }
}

function noValidLine({ rejectedLines, summary }: Importer): ApiError {
  const [first] = rejectedLines.list();
  return new ApiError(422, `${first?.reason} (line ${first?.first[0]} of ${summary.read}; all are rejected)`);
}

/** @throws ApiError 400 for bytes that are not gzip, or that break off */
async function* unpack(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* gunzip(body);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError(400, 'body: must be gzip, as Content-Encoding says');
  }
}

/** The parameters of the query, which apply to all lines. @throws ApiError 422 for an invalid parameter */
function readQuery(url: string): Omit<ImportOptions, 'appId' | 'now'> {
  const query = parseRawQuery(url);
  const read = (name: string): string | undefined => {
    const given = query.get(name);
    const text = given === undefined ? undefined : decodeQueryText(given);
    if (given !== undefined && text === undefined) throw invalid(`${name}: must be percent-encoded UTF-8`);
    return text;
  };
  const readOneOf = <Value extends string>(name: string, ...values: readonly Value[]): Value | undefined => {
    const text = read(name);
    const value = values.find((allowed) => allowed === text);
    if (text !== value) throw invalid(`${name}: must be ${values.join(' or ')}`);
    return value;
  };
  const env = read('env') ?? DEFAULT_ENV;
  if (envDecoder.decode(env) === undefined) throw invalid(`env: ${envDecoder.ruleFor(env)}`);
  const source = read('source') ?? '';
  if (!isSource(source)) throw invalid(`source: ${SOURCE_RULE}`);
  const base = read('base_url');
  const baseUrl = base === undefined ? undefined : parseBaseUrl(base);
  if (baseUrl === null) throw invalid(`base_url: ${BASE_URL_RULE}`);
  const map = read('map');
  return {
    env,
    source,
    baseUrl,
    consumerFrom: readOneOf('consumer_from', 'user'),
    trustForwarded: readOneOf('trust_forwarded', 'true', 'false') === 'true',
    format: chooseFormat(read('format') ?? (map === undefined ? DEFAULT_FORMAT : undefined), map),
  };
}

function chooseFormat(format: string | undefined, map: string | undefined): FormatChoice {
  try {
    return parseFormatChoice(format, map);
  } catch (error) {
    throw error instanceof RangeError ? invalid(error.message) : error;
  }
}

function invalid(detail: string): ApiError {
  return new ApiError(422, detail);
}
