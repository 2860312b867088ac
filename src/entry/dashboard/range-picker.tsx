import { useState } from 'preact/hooks';
import { Field, Popover } from './parts.js';
import { useSession, useWindow } from './session.js';
import { PRESETS, type Preset, formatWindow, fromInput, timeZone, toInput } from './time.js';

/** Presets, a custom range, and the zone of all times. */
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
            {(['local', 'utc'] as const).map((choice) => (
              <label key={choice}>
                <input
                  type="radio"
                  name="zone"
                  checked={zone === choice}
                  onChange={() => go({ zone: choice }, 'replace')}
                />
                {choice === 'utc' ? 'UTC' : timeZone('local').replaceAll('_', ' ')}
              </label>
            ))}
          </fieldset>
        </div>
      )}
    </Popover>
  );
}
