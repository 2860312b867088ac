import { useState } from 'preact/hooks';
import type { ExportQuery } from './api.js';
import { Popover, Text, saveFile } from './parts.js';
import type { Column } from './request-columns.js';
import { listLogFilters, toFailure, useSession } from './session.js';
import { toIso } from './time.js';

/** Who clicks on CSV opens it as a spreadsheet. */
const FORMATS = [
  ['ndjson', 'NDJSON', 'ndjson'],
  ['csv_spreadsheet', 'CSV', 'csv'],
  ['parquet', 'Parquet', 'parquet'],
] as const;

/** Saves exports as files; what it said last is for the reader. */
export function useExport() {
  const { api, app, fail } = useSession();
  const [isBusy, setIsBusy] = useState(false);
  const [said, setSaid] = useState('');
  const save = async (body: ExportQuery, name: string) => {
    setIsBusy(true);
    setSaid('Exporting…');
    try {
      saveFile(await api.exportFile(app.id, body), name);
      setSaid('Saved');
    } catch (error) {
      const failure = toFailure(error);
      setSaid(failure.message);
      if (failure.status !== 0) fail(failure);
    } finally {
      setIsBusy(false);
    }
  };
  return { isBusy, said, save };
}

/** Saves all requests of the window that match, with the shown columns, as a file. */
export function Export(props: { from: number; until: number | null; columns: Column[] }) {
  const { api, app, state } = useSession();
  const { isBusy, said, save } = useExport();
  const filters = listLogFilters(state);
  const name = nameFile(app.name, props.from, props.until);
  const body = (format: (typeof FORMATS)[number][0]): ExportQuery => ({
    format,
    since: toIso(props.from),
    ...(props.until !== null && { until: toIso(props.until) }),
    fields: props.columns.map(({ field }) => field),
    ...(filters.length > 0 && { filters }),
  });
  return (
    <Popover label="Export" class="small quiet">
      <div class="api-request">
        <p>
          All requests of this time that match the filters, with the shown columns; and time, ID, trace,
          method and URL, which every row has.
        </p>
        <div class="buttons">
          {FORMATS.map(([format, label, extension]) => (
            <button
              key={format}
              type="button"
              disabled={isBusy}
              onClick={() => void save(body(format), `${name}.${extension}`)}
            >
              {label}
            </button>
          ))}
          <span role="status">{said}</span>
        </div>
        <p>The same on the command line:</p>
        <pre tabIndex={0}>
          <Text max={20_000}>{api.exportCurl(app.id, body('ndjson'))}</Text>
        </pre>
      </div>
    </Popover>
  );
}

/** Such as `shop-api_2026-11-25`, or with the last day. */
export function nameFile(app: string, from: number, until: number | null): string {
  const slug = app
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 40);
  const days = [from, (until ?? Date.now()) - 1].map((time) => toIso(time).slice(0, 10));
  return [slug || 'app', ...new Set(days)].join('_');
}
