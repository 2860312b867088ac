import { useState } from 'preact/hooks';
import { Field, Popover } from './parts.js';
import { useSession, useWindow } from './session.js';
import {
  type Comparison,
  PRESETS,
  type Preset,
  type Zone,
  formatWindow,
  fromInput,
  getWindow,
  timeZone,
  toInput,
} from './time.js';

const COMPARISONS: Record<Comparison, string> = {
  before: 'Period before',
  week: 'Same days of last week',
};
/** With a browser in UTC there is nothing to choose. */
const hasZones = timeZone('local') !== 'UTC';

/** Presets, a custom range, what it is compared with, and the zone of all times. */
export function RangePicker() {
  const { state, go } = useSession();
  const { range, zone } = state;
  const window = useWindow(state, null);
  const usual = getWindow(range, zone, Date.now());
  // A longer interval than the usual one rounds the range up.
  const isRounded = window.to - window.from > usual.to - usual.from;
  const shown =
    'preset' in range && !isRounded
      ? PRESETS[range.preset].name
      : // What the address asks for, also where nothing of it is kept.
        formatWindow('from' in range && window.remark !== null ? { ...window, ...range } : window);
  const [error, setError] = useState('');
  return (
    <Popover
      class="control"
      label={
        <>
          <span class="visually-hidden">Time range: </span>
          {shown}
          {hasZones && <span class="muted zone">{nameZone(zone)}</span>}
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
                  go({ range: { preset }, interval: null });
                }}
              >
                {PRESETS[preset].name}
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
              go({ range: { from, to }, interval: null });
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
          <Choices
            legend="Compare with"
            choices={COMPARISONS}
            chosen={state.compare}
            choose={(compare) => go({ compare }, 'replace')}
          />
          {hasZones && (
            <Choices
              legend="Times in"
              choices={{ local: nameZone('local'), utc: 'UTC' }}
              chosen={zone}
              choose={(choice) => go({ zone: choice }, 'replace')}
            />
          )}
        </div>
      )}
    </Popover>
  );
}

const nameZone = (zone: Zone) => timeZone(zone).replaceAll('_', ' ');

function Choices<Word extends string>(props: {
  legend: string;
  choices: Record<Word, string>;
  chosen: Word;
  choose: (word: Word) => void;
}) {
  return (
    <fieldset>
      <legend>{props.legend}</legend>
      {(Object.keys(props.choices) as Word[]).map((word) => (
        <label key={word}>
          <input
            type="radio"
            name={props.legend}
            checked={props.chosen === word}
            onChange={() => props.choose(word)}
          />
          {props.choices[word]}
        </label>
      ))}
    </fieldset>
  );
}
