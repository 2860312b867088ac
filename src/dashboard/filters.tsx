import type { ComponentChildren, TargetedEvent } from 'preact';
import { useState } from 'preact/hooks';
import { Popover, Text } from './parts.js';
import { hasFilters, useConsumers, useLoad, useSession, useWindow } from './session.js';
import { NO_FILTERS, type State, toPattern } from './state.js';
import { PRESETS, type Preset, formatWindow, fromInput, timeZone, toInput, toIso } from './time.js';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
const STATUSES = [
  ['2xx', 'Success'],
  ['3xx', 'Redirection'],
  ['4xx', 'Client error'],
  ['5xx', 'Server error'],
  ['4xx,5xx', 'Any error'],
] as const;
const STATUS = /^[1-9](?:\d\d|xx)(?:,[1-9](?:\d\d|xx))*$/;

/** What is set, as chips, and a box to set more. */
export function Filters() {
  const { state, go } = useSession();
  const window = useWindow(state, null);
  const names = useConsumers(state.consumer === null ? null : toIso(window.from));
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
  const { consumer: id } = state;
  const consumer = id === null ? null : names ? (names.get(id)?.name ?? id) : '…';
  return (
    <section class="filters" aria-label="Filters">
      <PathFilter />
      <Popover label="Filter" class="control" name="Add a filter">
        {(close) => <FilterBox close={close} />}
      </Popover>
      <ul class="chips" aria-label="Set filters">
        {chip('env', 'environment', state.env)}
        {chip('consumer', 'consumer', consumer)}
        {chip('method', 'method', state.method)}
        {chip('path', 'path', state.path)}
        {chip('status', 'status', state.status)}
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
    </section>
  );
}

/** A path pattern; a text without one that is no path is searched for anywhere. */
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
  const { app, state, go } = useSession();
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
    else setError('Write codes and classes, such as 404,5xx.');
  };
  const setConsumer = (consumer: string) => {
    const known = [...(names?.values() ?? [])].find(({ name, identifier }) =>
      [name, identifier].includes(consumer),
    );
    if (known) set({ consumer: known.id });
    else if (/^\d{1,10}$/.test(consumer)) set({ consumer: Number(consumer) });
    else setError('No consumer of this time has that name. An ID does as well.');
  };
  /** A text is set by Enter, and when the field or the box is left, but by Escape. */
  const text = (setText: (text: string) => void) => ({
    onInput: () => setError(''),
    onChange: ({ currentTarget }: TargetedEvent<HTMLInputElement>) => {
      const value = currentTarget.value.trim();
      if (value !== '' && currentTarget.closest(':popover-open')) setText(value);
    },
  });
  const options = (values: readonly (readonly [string, string])[], chosen: string | null) =>
    values.map(([value, name]) => (
      <option key={value} value={value} selected={value === chosen}>
        {name}
      </option>
    ));
  return (
    <div class="filter-box">
      <Field label="Environment">
        <select onChange={(event) => set({ env: event.currentTarget.value || null })}>
          <option value="">All</option>
          {options(
            app.envs.map(({ name }) => [name, name.slice(0, 100)] as const),
            state.env,
          )}
        </select>
      </Field>
      <Field label="Method">
        <select onChange={(event) => set({ method: event.currentTarget.value || null })}>
          <option value="">All</option>
          {options(
            METHODS.map((method) => [method, method] as const),
            state.method,
          )}
        </select>
      </Field>
      <Field label="Status">
        <select onChange={(event) => set({ status: event.currentTarget.value || null })}>
          <option value="">All</option>
          {options(
            STATUSES.map(([value, name]) => [value, `${name} (${value})`] as const),
            state.status,
          )}
        </select>
      </Field>
      <Field label="Codes">
        <input placeholder="404,5xx" maxLength={100} {...text(setCodes)} />
      </Field>
      <Field label="Consumer">
        <input list="consumers" {...text(setConsumer)} />
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

function Field({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
    </label>
  );
}

/** Presets, a free range, and the zone of all times. */
export function RangePicker() {
  const { state, go } = useSession();
  const { range, zone } = state;
  const window = useWindow(state, null);
  const shown = 'preset' in range ? PRESETS[range.preset][0] : formatWindow(window);
  const [error, setError] = useState('');
  return (
    <Popover
      class="control"
      label={
        <>
          <span class="visually-hidden">Time range: </span>
          {shown}
          <span class="muted zone">{zone === 'utc' ? 'UTC' : 'local'}</span>
        </>
      }
    >
      {(close) => (
        <div class="range-box">
          <div class="presets">
            {(Object.keys(PRESETS) as Preset[]).map((preset) => (
              <button
                key={preset}
                type="button"
                aria-pressed={'preset' in range && range.preset === preset}
                onClick={() => {
                  close();
                  go({ range: { preset } });
                }}
              >
                {PRESETS[preset][0]}
              </button>
            ))}
          </div>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              const form = new FormData(event.currentTarget);
              const read = (name: string) => {
                const value = form.get(name);
                return fromInput(typeof value === 'string' ? value : '', zone);
              };
              const [from, to] = [read('from'), read('to')];
              if (!(from < to)) {
                setError('The start must be before the end.');
                return;
              }
              if (from > Date.now()) {
                setError('This time is in the future.');
                return;
              }
              close();
              go({ range: { from, to } });
            }}
          >
            <Field label="From">
              <input name="from" type="datetime-local" required defaultValue={toInput(window.from, zone)} />
            </Field>
            <Field label="To">
              <input
                name="to"
                type="datetime-local"
                required
                defaultValue={toInput(Math.min(window.to, Date.now()), zone)}
              />
            </Field>
            <button type="submit">Apply</button>
            <p role="alert" class="message">
              {error}
            </p>
          </form>
          <fieldset>
            <legend>Times in</legend>
            {(['local', 'utc'] as const).map((one) => (
              <label key={one}>
                <input
                  type="radio"
                  name="zone"
                  checked={zone === one}
                  onChange={() => go({ zone: one }, 'replace')}
                />
                {one === 'utc' ? 'UTC' : timeZone('local').replaceAll('_', ' ')}
              </label>
            ))}
          </fieldset>
        </div>
      )}
    </Popover>
  );
}
