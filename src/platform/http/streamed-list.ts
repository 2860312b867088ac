import { FileResponse } from './file-response.js';

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
): Promise<{ data: Item[] } | FileResponse> {
  const first = (await reads.next()).value as Item[] | undefined;
  if (!first || first.length < readLength) return { data: first ?? [] };
  return new FileResponse('application/json; charset=utf-8', { chunks: writeList(first, reads) });
}

async function* writeList<Item>(first: Item[], rest: AsyncGenerator<Item[]>): AsyncGenerator<Buffer> {
  yield Buffer.from(`{"data":[${writeItems(first)}`);
  for await (const items of rest) if (items.length > 0) yield Buffer.from(`,${writeItems(items)}`);
  yield Buffer.from(']}');
}

function writeItems(items: readonly unknown[]): string {
  return JSON.stringify(items).slice(1, -1);
}
