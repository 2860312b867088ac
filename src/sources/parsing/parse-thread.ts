import { serialize } from 'node:v8';
import { type MessagePort, workerData } from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { ApiError } from '../../platform/http/api-error.js';
import { InvalidRecordError } from '../../records/decoding/decoders.js';
import { openCountryDatabase } from '../decoding/client-country.js';
import { BodyWork } from '../intake/body-work.js';
import type { LongLine } from '../lines/files/long-line.js';
import { BodyParser, type ParseTask, type ParserOptions } from './body-parser.js';
import { encodeParts } from './parsed-parts.js';

/** What a thread is started with. */
export interface ThreadData {
  readonly options: ParserOptions;
  readonly countryDatabase: string | undefined;
}

/** A body, or a line of one, for a thread. */
export interface ThreadTask {
  readonly task: ParseTask | LongLine;
  readonly body: Uint8Array;
  readonly maxMs: number;
  /** For how long another thread worked for the body before. */
  readonly spentMs: number;
  /** Takes a message when the thread begins, and brings one when nobody waits for the result any more. */
  readonly port: MessagePort;
}

/** The parts of the parsed body or line, or why it is rejected. */
export type ThreadResult = { readonly spentMs: number } & (
  | { readonly parts: Uint8Array[] }
  | { readonly invalid: string }
  | { readonly status: number; readonly detail: string; readonly headers: Readonly<Record<string, string>> }
);

let parser: BodyParser | undefined;

/** At the first body, whose sender gets the error: a thread that cannot start would keep bodies waiting. */
function createParser(): BodyParser {
  const { options, countryDatabase } = workerData as ThreadData;
  openCountryDatabase(countryDatabase);
  return new BodyParser(options);
}

/** Parses a body. This file is what each thread of `ParseThreads` runs. */
export default async function parse({ task, body, maxMs, spentMs, port }: ThreadTask) {
  const abort = new AbortController();
  port.once('message', () => {
    abort.abort(new Error('nobody waits for the result'));
  });
  const work = new BodyWork(maxMs, abort.signal);
  work.spend(spentMs);
  work.begin();
  port.postMessage(null);
  const read = async () => {
    try {
      parser ??= createParser();
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      return {
        parts:
          'kind' in task
            ? [...encodeParts(await parser.parse(task, bytes, work))]
            : [serialize(await parser.parseLine(task, bytes, work))],
      };
    } catch (error) {
      if (error instanceof InvalidRecordError) return { invalid: error.message };
      if (!(error instanceof ApiError)) throw error;
      return { status: error.getStatus(), detail: error.detail, headers: error.headers };
    }
  };
  const result: ThreadResult = { ...(await read()), spentMs: work.spentMs - spentMs };
  const buffers = 'parts' in result ? result.parts.map(({ buffer }) => buffer) : [];
  return move({ [transferableSymbol]: buffers, [valueSymbol]: result });
}
