import { readFile, rm, writeFile } from 'node:fs/promises';
import { AdminError } from '../../ops/admin/admin.error.js';
import type { ExportQuery } from '../../api/request-logs/export/export-query.js';

/** The request of an export, as its options state it. */
export interface AskedExport extends Pick<ExportQuery, 'format' | 'fields' | 'filters'> {
  readonly app: number;
  readonly since: number | null;
  readonly until: number | null;
}

/** The request with the end of its window: `until`, or the time at which the export began. */
export interface BegunExport extends AskedExport {
  readonly end: number;
}

const OPTIONS: Readonly<Record<keyof AskedExport, string>> = {
  app: '--app',
  format: '--format',
  since: '--since',
  until: '--until',
  filters: '--filter',
  fields: '--fields',
};

/**
 * The path of a file next to an unfinished export. It records the request, because the export could otherwise
 * be continued with rows of another app, window or filter.
 */
function besideOf(file: string): string {
  return `${file}.resume`;
}

export async function noteBegun(file: string, begun: BegunExport): Promise<void> {
  // Filters may contain personal data.
  await writeFile(besideOf(file), `${JSON.stringify(begun)}\n`, { mode: 0o600, flag: 'wx' });
}

export async function forgetBegun(file: string): Promise<void> {
  await rm(besideOf(file), { force: true });
}

/** @throws AdminError if the file is not known to belong to an export with the same request */
export async function requireBegun(file: string, asked: AskedExport): Promise<BegunExport> {
  const begun = await readBegun(besideOf(file));
  if (!begun)
    throw new AdminError(
      `${besideOf(file)} is missing or cut, which says what ${file} is an export of: it cannot be continued`,
    );
  const differing = (Object.keys(OPTIONS) as (keyof AskedExport)[]).filter(
    (name) => JSON.stringify(begun[name]) !== JSON.stringify(asked[name]),
  );
  if (differing.length > 0)
    throw new AdminError(
      `${file} was begun with another ${differing.map((name) => OPTIONS[name]).join(', ')}: it can be continued with the same options alone`,
    );
  return begun;
}

async function readBegun(path: string): Promise<BegunExport | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as BegunExport;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
