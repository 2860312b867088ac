import { useState } from 'preact/hooks';
import { formatMs } from './format.js';
import { ApiRequest, EndpointName, Status, Text } from './parts.js';
import { linkTo, useLoad, useSession } from './session.js';
import { toIso } from './time.js';

/** Requests of the same trace are searched this long before the request. */
const TRACE_MS = 15 * 60_000;

/** The requests of the same trace. A button loads them, because the search takes an additional request. */
export function Trace({ id, time, uuid }: { id: string; time: number; uuid: string }) {
  const { api, app, state } = useSession();
  const [isWanted, setIsWanted] = useState(false);
  const since = toIso(Math.floor((time - TRACE_MS) / 1000) * 1000);
  const { value } = useLoad(isWanted ? `trace ${id}` : null, () =>
    // Only an export finds them.
    api.exportRows(app.id, {
      since,
      fields: ['path', 'status_code', 'response_time_ms'],
      filters: [{ field: 'trace_id', op: 'eq', value: id }],
      limit: 50,
    }),
  );
  const others = value?.data.filter(({ request_uuid }) => request_uuid !== uuid);
  return (
    <div class="trace">
      <p>
        <span class="muted">Trace</span>{' '}
        <code>
          <Text>{id}</Text>
        </code>{' '}
        {!isWanted && (
          <button type="button" class="small" onClick={() => setIsWanted(true)}>
            Same trace
          </button>
        )}
        {value && <ApiRequest curl={value.curl} of="Trace" />}
        {others?.length === 0 && <span class="muted">No other request of this trace.</span>}
      </p>
      {others && others.length > 0 && (
        <ul>
          {others.map((log) => (
            <li key={log.request_uuid}>
              <Status code={log.status_code} />{' '}
              <a
                href={linkTo(state, { view: 'requests', error: null, request: log.request_uuid, tab: null })}
              >
                <EndpointName method={log.method} path={log.path ?? log.url} />
              </a>{' '}
              <span class="muted">{formatMs(log.response_time_ms)}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
