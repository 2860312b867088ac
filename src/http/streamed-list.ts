import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';

/** What a reader that takes nothing may take: after so long its connection is closed. */
export const STALLED_READER_MS = 60_000;

/**
 * The body `{"data":[…]}` of a list without pages. A list that is longer than one read of the store is sent while it is
 * read, so that its length costs no memory. What fails before the first byte is an error like any other; after that
 * the connection is closed without the last chunk, and no reader takes what came for the whole list.
 *
 * @param reads the items in their order, one array for each read of the store; the last one is shorter than `readLength`
 */
export async function streamList<Item>(
  reads: AsyncGenerator<Item[]>,
  readLength: number,
): Promise<{ data: Item[] } | StreamableFile> {
  const first = (await reads.next()).value as Item[] | undefined;
  if (!first || first.length < readLength) return { data: first ?? [] };
  const text = Readable.from(writeList(first, reads), { objectMode: false, highWaterMark: 1 });
  return new StreamableFile(text, { type: 'application/json; charset=utf-8' });
}

async function* writeList<Item>(first: Item[], rest: AsyncGenerator<Item[]>): AsyncGenerator<string> {
  yield `{"data":[${writeItems(first)}`;
  for await (const items of rest) if (items.length > 0) yield `,${writeItems(items)}`;
  yield ']}';
}

function writeItems(items: readonly unknown[]): string {
  return JSON.stringify(items).slice(1, -1);
}
