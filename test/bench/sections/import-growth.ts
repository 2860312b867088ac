import { execFile } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createApp, importFile } from '../command.js';
import { inTurn } from '../load/rounds.js';
import { type Options, wants } from '../options.js';
import { progress } from '../report/progress.js';
import type { Workspace } from '../workspace.js';
import { writeLines } from './import-lines.js';

const ROUNDS = 3;

/** Whose UUIDs requests have: made by the product, with the time first, or random ones of their senders. */
export type Identities = 'own' | 'foreign';

/** An import of new lines into a store that knows other requests. */
export interface ImportGrowth {
  identities: Identities;
  knownCount: number;
  /** Of processor time of the whole process, a line. */
  processorMicroseconds: number;
}

/** The same lines into stores that know more and more requests, in turns. */
export async function measureImportGrowth(workspace: Workspace, options: Options): Promise<ImportGrowth[]> {
  if (!wants(options, 'growth')) return [];
  const { lines, knownCounts } = options;
  const log = workspace.file('import.log');
  const stores = (['own', 'foreign'] as const).flatMap((identities) =>
    knownCounts.map((count) => ({
      identities,
      knownCount: count,
      directory: workspace.file(`known-${identities}-${count}`),
      file: workspace.file(`lines-${identities}.ndjson`),
    })),
  );
  for (const { identities, file, directory, knownCount: count } of stores) {
    progress(`store with ${count} known requests, ${identities} UUIDs`);
    await writeLines(file, lines, identities === 'own' ? 'ndjson' : 'uuid');
    rmSync(directory, { recursive: true, force: true });
    await createApp(directory, log);
    if (count > 0) await learnRequests(directory, count, identities);
  }
  const measures = stores.map(({ file, directory, ...store }) => async () => {
    progress(`import beside ${store.knownCount} known requests, ${store.identities} UUIDs`);
    const copy = `${directory}-copy`;
    cpSync(directory, copy, { recursive: true });
    const { processorSeconds } = await importFile(file, lines, copy, log);
    rmSync(copy, { recursive: true });
    return (processorSeconds / lines) * 1e6;
  });
  const took = await inTurn(measures, ROUNDS);
  for (const { directory, file } of stores)
    for (const path of [directory, file]) rmSync(path, { recursive: true, force: true });
  return stores.map(({ identities, knownCount: count }, index) => ({
    identities,
    knownCount: count,
    processorMicroseconds: took[index] ?? NaN,
  }));
}

async function learnRequests(directory: string, count: number, identities: Identities) {
  const script = fileURLToPath(new URL('./known-requests.js', import.meta.url));
  const env = { ...process.env, DATA_DIR: directory };
  await promisify(execFile)(process.execPath, [script, String(count), identities], { env });
}
