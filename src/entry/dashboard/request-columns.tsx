import type { ComponentChildren } from 'preact';
import type { ExportQuery, RequestLog } from './api.js';
import { formatBytes, formatMs } from './format.js';
import { Method, Popover, Status, Text } from './parts.js';
import { useSession } from './session.js';
import type { State } from './state.js';
import { formatTime } from './time.js';

export interface Column {
  id: string;
  name: string;
  /** Its name in an export. */
  field: NonNullable<ExportQuery['fields']>[number];
  isNumber?: boolean;
  isUsual?: boolean;
  show: (log: RequestLog, state: State) => ComponentChildren;
}

const COLUMNS: readonly Column[] = [
  {
    id: 'time',
    name: 'Time',
    field: 'timestamp',
    isUsual: true,
    show: ({ timestamp }, { zone }) => {
      const [day = '', clock = ''] = formatTime(Date.parse(timestamp), 'stamp', zone).split(', ');
      return (
        <time dateTime={timestamp}>
          <span class="day">{day}</span>
          <span class="wide">, </span>
          {clock.slice(0, -4)}
          <span class="wide">{clock.slice(-4)}</span>
        </time>
      );
    },
  },
  {
    id: 'status',
    name: 'Status',
    field: 'status_code',
    isUsual: true,
    show: ({ status_code }) => <Status code={status_code} />,
  },
  {
    id: 'method',
    name: 'Method',
    field: 'method',
    isUsual: true,
    show: ({ method }) => <Method>{method}</Method>,
  },
  {
    id: 'path',
    name: 'Path',
    field: 'path',
    isUsual: true,
    show: ({ path, url }) => (path === null ? <Text>{getTarget(url)}</Text> : <Text>{path}</Text>),
  },
  { id: 'url', name: 'URL', field: 'url', show: ({ url }) => <Text>{url}</Text> },
  {
    id: 'consumer',
    name: 'Consumer',
    field: 'consumer',
    isUsual: true,
    show: ({ consumer }) => consumer !== null && <Text max={100}>{consumer}</Text>,
  },
  { id: 'env', name: 'Environment', field: 'env', show: ({ env }) => <Text max={40}>{env}</Text> },
  {
    id: 'duration',
    name: 'Duration',
    field: 'response_time_ms',
    isNumber: true,
    isUsual: true,
    show: ({ response_time_ms }) => formatMs(response_time_ms),
  },
  {
    id: 'received',
    name: 'Received',
    field: 'request_size_bytes',
    isNumber: true,
    show: ({ request_size_bytes }) => formatBytes(request_size_bytes),
  },
  {
    id: 'sent',
    name: 'Sent',
    field: 'response_size_bytes',
    isNumber: true,
    isUsual: true,
    show: ({ response_size_bytes }) => formatBytes(response_size_bytes),
  },
  {
    id: 'client',
    name: 'Client',
    field: 'client_ip',
    show: ({ client_ip }) => client_ip !== null && <Text max={60}>{client_ip}</Text>,
  },
  {
    id: 'country',
    name: 'Country',
    field: 'client_country_iso_code',
    show: ({ client_country_iso_code }) =>
      client_country_iso_code !== null && <Text max={10}>{client_country_iso_code}</Text>,
  },
];

const USUAL = COLUMNS.filter(({ isUsual }) => isUsual).length;

/** The URL without its origin. */
function getTarget(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '') || '/';
}

export function chosenColumns({ columns }: State): Column[] {
  const chosen = COLUMNS.filter(({ id }) => columns?.includes(id));
  return chosen.length > 0 ? chosen : COLUMNS.filter(({ isUsual }) => isUsual);
}

export function columnClass({ id, isNumber }: Column): string {
  return isNumber ? `column-${id} number` : `column-${id}`;
}

export function ColumnPicker({ columns }: { columns: Column[] }) {
  const { go } = useSession();
  const chosen = new Set(columns.map(({ id }) => id));
  return (
    <Popover label="Columns" class="small quiet">
      <fieldset class="column-picker">
        <legend>Columns</legend>
        {COLUMNS.map(({ id, name }) => (
          <label key={id}>
            <input
              type="checkbox"
              checked={chosen.has(id)}
              disabled={chosen.size === 1 && chosen.has(id)}
              onChange={() => {
                const next = COLUMNS.filter((column) => chosen.has(column.id) !== (column.id === id));
                const isUsual = next.every((column) => column.isUsual) && next.length === USUAL;
                go({ columns: isUsual ? null : next.map((column) => column.id) }, 'replace');
              }}
            />
            {name}
          </label>
        ))}
      </fieldset>
    </Popover>
  );
}
