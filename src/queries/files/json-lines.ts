import { text } from 'node:stream/consumers';
import type { FileResponse } from '../../platform/http/file-response.js';

/** The rows of an NDJSON file. */
export async function readJsonLines<Row>({ body }: FileResponse): Promise<Row[]> {
  const lines = Buffer.isBuffer(body) ? body.toString() : await text(body.chunks);
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
}
