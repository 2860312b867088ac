import type { TargetedEvent } from 'preact';
import { useState } from 'preact/hooks';
import { Facets } from './facets.js';
import { formatBytes, formatMs } from './format.js';
import { Field, Popover, Text } from './parts.js';
import {
  hasFilters,
  hasSearch,
  hasWrongStatus,
  useConsumers,
  useLoad,
  useSession,
  useWindow,
} from './session.js';
import { NO_FILTERS, STATUS, type State, UUID, toPattern } from './state.js';
import { toIso } from './time.js';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
const STATUSES = [
  ['2xx', 'Success'],
  ['3xx', 'Redirection'],
  ['4xx', 'Client error'],
  ['5xx', 'Server error'],
  ['4xx,5xx', 'Any error'],
] as const;
const STATUS_HINT = 'Write codes and classes, such as 404,5xx.';

/** The current filters as chips, and a box to add more. */
export function Filters() {
  const { state, go } = useSession();
  const window = useWindow(state, null);
  const { consumer: id } = state;
  const names = useConsumers(id === null ? null : toIso(window.from), id === null ? [] : [id]);
  const chip = (name: keyof typeof NO_FILTERS, label: string, value: string | number | null) =>
    value !== null && (
      <li class="chip">
        <span>
          <span class="muted">{label}</span> <Text max={60}>{String(value)}</Text>
        </span>
        <button type="button" aria-label={`Remove the filter ${label}`} onClick={() => go({ [name]: null })}>
          ×
        </button>
      </li>
    );
  const consumer = id === null ? null : names ? (names.get(id)?.name ?? id) : '…';
  return (
    <section class="filters" aria-label="Filters">
      <PathFilter />
      <Popover label="Filter" class="control" name="Add a filter">
        {(close) => <FilterBox close={close} />}
      </Popover>
      {state.view === 'requests' && !hasSearch(state) && (
        <Popover label="Values" class="control" name="Values to filter by">
          {(close) => <Facets close={close} />}
        </Popover>
      )}
      <ul class="chips" aria-label="Set filters">
        {chip('env', 'environment', state.env)}
        {chip('consumer', 'consumer', consumer)}
        {chip('method', 'method', state.method)}
        {chip('path', 'path', state.path)}
        {chip('status', 'status', state.status)}
        {chip('url', 'URL has', state.url)}
        {chip('slower', 'took at least', state.slower === null ? null : formatMs(state.slower))}
        {chip('larger', 'sent at least', state.larger === null ? null : formatBytes(state.larger))}
        {chip('client', 'client has', state.client)}
        {chip('exception', 'exception has', state.exception)}
        {chip('id', 'request', state.id)}
      </ul>
      {hasFilters(state) && (
        <button type="button" class="small quiet" onClick={() => go(NO_FILTERS)}>
          Clear
        </button>
      )}
      {window.remark !== null && (
        <span class="muted" role="status">
          {window.remark}
        </span>
      )}
      {hasWrongStatus(state) && (
        <span class="muted" role="status">
          No request has this status. {STATUS_HINT}
        </span>
      )}
    </section>
  );
}

/** A path pattern. A text that is not a path is searched for anywhere in the path. */
function PathFilter() {
  const { api, app, go } = useSession();
  const [text, setText] = useState('');
  const [isUsed, setIsUsed] = useState(false);
  const endpoints = useLoad(isUsed ? `endpoints ${app.id}` : null, () => api.endpoints(app.id));
  const paths = new Set(endpoints.value?.data.data.map(({ path }) => path));
  return (
    <form
      class="path-filter"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const path = text.trim();
        if (path === '') return;
        go({ path: path.includes('*') || path.startsWith('/') ? path : `*${path}*` });
        setText('');
      }}
    >
      <input
        id="path-filter"
        class="control"
        type="search"
        list="paths"
        maxLength={1000}
        placeholder="Path, such as /v1/orders/*"
        aria-label="Filter by path; * is any text, \* an asterisk"
        aria-keyshortcuts="/"
        value={text}
        onFocus={() => setIsUsed(true)}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <datalist id="paths">
        {[...paths].slice(0, 500).map((path) => (
          <option key={path} value={toPattern(path)} />
        ))}
      </datalist>
    </form>
  );
}

function FilterBox({ close }: { close: () => void }) {
  const { state, go } = useSession();
  const window = useWindow(state, null);
  const names = useConsumers(toIso(window.from));
  const [error, setError] = useState('');
  const set = (patch: Partial<State>) => {
    close();
    go(patch);
  };
  const setCodes = (text: string) => {
    const status = text.replaceAll(' ', '').toLowerCase();
    if (STATUS.test(status)) set({ status });
    else setError(STATUS_HINT);
  };
  const setConsumer = (consumer: string) => {
    const match = [...(names?.values() ?? [])].find(({ name, identifier }) =>
      [name, identifier].includes(consumer),
    );
    if (match) set({ consumer: match.id });
    else if (/^\d{1,10}$/.test(consumer)) set({ consumer: Number(consumer) });
    else setError('No consumer of this time has that name. An ID does as well.');
  };
  /** Enter sets a text, and so does leaving the field or the box; Escape does not. */
  const text = (setText: (text: string) => void) => ({
    onInput: () => setError(''),
    onChange: ({ currentTarget }: TargetedEvent<HTMLInputElement>) => {
      const value = currentTarget.value.trim();
      if (value !== '' && currentTarget.closest(':popover-open')) setText(value);
    },
  });
  const number = (name: 'slower' | 'larger') =>
    text((value) => {
      if (/^\d{1,9}$/.test(value)) set({ [name]: Number(value) });
      else setError('Write a whole number.');
    });
  const setId = (id: string) => {
    if (UUID.test(id)) set({ id: id.toLowerCase() });
    else setError('A request ID is a UUID: 32 digits and letters from a to f, with hyphens.');
  };
  return (
    <div class="filter-box">
      <Choice
        label="Method"
        options={METHODS.map((method) => [method, method])}
        chosen={state.method}
        choose={(method) => set({ method })}
      />
      <Choice
        label="Status"
        options={STATUSES.map(([value, name]) => [value, `${name} (${value})`])}
        chosen={state.status}
        choose={(status) => set({ status })}
      />
      <Field label="Other codes">
        <input placeholder="404,5xx" maxLength={100} {...text(setCodes)} />
      </Field>
      <Field label="Consumer">
        <input list="consumers" {...text(setConsumer)} />
      </Field>
      <h3>Requests alone</h3>
      <Field label="URL has">
        <input maxLength={1000} {...text((url) => set({ url }))} />
      </Field>
      <Field label="Took, ms">
        <input inputMode="numeric" placeholder="at least" maxLength={10} {...number('slower')} />
      </Field>
      <Field label="Sent, bytes">
        <input inputMode="numeric" placeholder="at least" maxLength={10} {...number('larger')} />
      </Field>
      <Field label="Client has">
        <input placeholder="203.0.113." maxLength={100} {...text((client) => set({ client }))} />
      </Field>
      <Field label="Exception has">
        <input placeholder="TypeError" maxLength={200} {...text((exception) => set({ exception }))} />
      </Field>
      <Field label="Request ID">
        <input maxLength={36} {...text(setId)} />
      </Field>
      <datalist id="consumers">
        {[...(names?.values() ?? [])].slice(0, 1000).map(({ id, name }) => (
          <option key={id} value={name.slice(0, 200)} />
        ))}
      </datalist>
      <p role="alert" class="message">
        {error}
      </p>
    </div>
  );
}

/** One of several values, or all. */
function Choice(props: {
  label: string;
  options: readonly (readonly [value: string, name: string])[];
  chosen: string | null;
  choose: (value: string | null) => void;
}) {
  return (
    <Field label={props.label}>
      <select onChange={(event) => props.choose(event.currentTarget.value || null)}>
        <option value="">All</option>
        {props.options.map(([value, name]) => (
          <option key={value} value={value} selected={value === props.chosen}>
            {name}
          </option>
        ))}
      </select>
    </Field>
  );
}
