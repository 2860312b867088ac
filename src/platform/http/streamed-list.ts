import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';

/**
 * The body `{"data":[…]}` of a list without pagination. A list longer than one read of the store is streamed,
 * so that memory does not depend on its length. An error before the first byte is handled as usual; later the
 * connection is closed without the last chunk, so that clients detect the truncated list.
 *
 * @param reads the items in their order, one array for each read of the store; the last one is shorter than
 * `readLength`
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
