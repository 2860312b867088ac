import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LineParser } from '../../../src/sources/lines/formats/request-format.js';
import { writeLines } from './import-lines.js';

const COUNT = 1_500;
const directory = mkdtempSync(join(tmpdir(), 'bench-lines-'));
afterAll(() => {
  rmSync(directory, { recursive: true });
});

/** The requests as an import reads them. */
async function readBack(format: 'ndjson' | 'uuid' | 'combined') {
  const file = join(directory, format);
  await writeLines(file, COUNT, format);
  const parser = new LineParser(undefined);
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const parsed = parser.parse(line);
      if (parsed === null || !('record' in parsed)) throw new Error(line);
      return parsed.record;
    });
}

it('writes the same requests in each format', async () => {
  const [ndjson, uuid, combined] = await Promise.all([
    readBack('ndjson'),
    readBack('uuid'),
    readBack('combined'),
  ]);
  const brief = (records: typeof ndjson) =>
    records.map(({ method, path, status_code, client_ip }) => ({ method, path, status_code, client_ip }));
  expect(ndjson).toHaveLength(COUNT);
  expect(brief(uuid)).toEqual(brief(ndjson));
  expect(brief(combined)).toEqual(brief(ndjson));
});

it('writes for a database of logs what a line of the combined format says', async () => {
  const file = join(directory, 'jsonline');
  await writeLines(file, COUNT, 'jsonline');
  const sent = readFileSync(file, 'utf8').trimEnd().split('\n');
  const combined = await readBack('combined');
  const lines = sent.map((line) => JSON.parse(line) as Record<string, string>);
  expect(
    lines.map(({ _msg, status, bytes, client_ip }) => [_msg, Number(status), Number(bytes), client_ip]),
  ).toEqual(
    combined.map(({ method, url, status_code, response_size_bytes, client_ip }) => [
      `${method} ${url} HTTP/1.1`,
      status_code,
      response_size_bytes,
      client_ip,
    ]),
  );
});

it('writes a random UUID of its own into each line, only where it is asked for', async () => {
  const uuids = (await readBack('uuid')).map(({ request_uuid }) => request_uuid);
  expect(new Set(uuids).size).toBe(COUNT);
  expect(uuids.every((uuid) => uuid?.charAt(14) === '4')).toBe(true);
});
