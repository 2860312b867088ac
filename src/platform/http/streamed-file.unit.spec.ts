import { once } from 'node:events';
import { type Server, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import express from 'express';
import type { FileStream } from './file-response.js';
import { sendStream } from './streamed-file.js';

const MIB = 1024 * 1024;

/** A buffer of its own, and its content. */
function createPage(byte: number, length: number): { page: Buffer; content: Buffer } {
  return { page: Buffer.from(new ArrayBuffer(length)).fill(byte), content: Buffer.alloc(length, byte) };
}

describe('sendStream', () => {
  let server: Server;
  let chunks: FileStream['chunks'];
  let sent: Promise<void>;

  beforeAll(async () => {
    const app = express().get('/', (_, response) => {
      sent = sendStream(response, { chunks, trailers: () => ({}) });
    });
    server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterAll(() => {
    server.close();
  });

  async function open() {
    const outgoing = get({ port: (server.address() as AddressInfo).port, agent: false });
    const [incoming] = (await once(outgoing, 'response')) as [NodeJS.ReadableStream];
    return { outgoing, incoming };
  }

  async function* generate(parts: Iterable<Buffer>): AsyncGenerator<Buffer> {
    for (const part of parts) yield await Promise.resolve(part);
  }

  it('sends all bytes, and frees each large buffer once its last part is sent', async () => {
    const pages = [1, 2, 3].map((byte) => createPage(byte, 3 * MIB));
    const small = createPage(4, 1_000);
    const parts = [...pages, small].flatMap(({ page }) => [page.subarray(0, 10), page.subarray(10)]);
    chunks = generate([...parts, Buffer.from('end')]);
    const { incoming } = await open();
    const expected = Buffer.concat([...[...pages, small].map(({ content }) => content), Buffer.from('end')]);
    expect((await buffer(incoming)).equals(expected)).toBe(true);
    await sent;
    expect(pages.map(({ page }) => page.buffer.byteLength)).toEqual([0, 0, 0]);
    expect(small.page.buffer.byteLength).toBe(1_000);
  });

  it('keeps a buffer of which only a small part was sent last, because that may not be written yet', async () => {
    const { page } = createPage(1, 2 * MIB);
    chunks = generate([page.subarray(100), page.subarray(0, 100), Buffer.from('end')]);
    const { incoming } = await open();
    expect(await buffer(incoming)).toHaveLength(2 * MIB + 3);
    expect(page.buffer.byteLength).toBe(2 * MIB);
  });

  it('keeps the buffer that is being written when the client leaves', async () => {
    const pages = Array.from({ length: 40 }, (_, byte) => createPage(byte, 4 * MIB).page);
    chunks = generate(pages);
    const { outgoing } = await open();
    outgoing.destroy();
    await sent;
    const kept = pages.findIndex(({ buffer: { byteLength } }) => byteLength > 0);
    expect(kept).toBeLessThan(pages.length - 1);
    expect(pages.slice(kept).every(({ length }) => length === 4 * MIB)).toBe(true);
  });
});
