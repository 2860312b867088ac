import { useState } from 'preact/hooks';
import type { Facet, FacetsQuery } from './api.js';
import { formatNumber } from './format.js';
import { Field, Text } from './parts.js';
import { toQuery } from './request-list.js';
import { useLoad, useSession, useWindow } from './session.js';
import { type State, toPattern } from './state.js';
import { toBounds } from './time.js';

/** The fields that are filters as well, and the filter of a value. */
const FIELDS = {
  status_code: { name: 'Status', toFilter: ({ value }) => ({ status: value }) },
  method: { name: 'Method', toFilter: ({ value }) => ({ method: value }) },
  path: { name: 'Path', toFilter: ({ value }) => ({ path: value && toPattern(value) }) },
  consumer: { name: 'Consumer', toFilter: ({ id = null }) => ({ consumer: id }) },
  env: { name: 'Environment', toFilter: ({ value }) => ({ env: value }) },
  exception_type: { name: 'Exception', toFilter: ({ value }) => ({ exception: value }) },
} satisfies Partial<
  Record<NonNullable<FacetsQuery['field']>, { name: string; toFilter: (facet: Facet) => Partial<State> }>
>;

/** The values of a field among the listed requests. A click filters by one. */
export function Facets({ close }: { close: () => void }) {
  const { api, app, state, go } = useSession();
  const window = useWindow(state, null);
  const [field, setField] = useState<keyof typeof FIELDS>('status_code');
  const filters = toQuery({ app, state });
  const query = filters && { ...filters, ...toBounds(window), field };
  const { value, isLoading } = useLoad(
    query && `facets ${app.id} ${JSON.stringify(query)}`,
    async () => query && { field, ...(await api.facets(app.id, query)) },
  );
  // The values of another field stay until those of this one are loaded.
  const list = value?.field === field ? value.data : undefined;
  return (
    <div class="filter-box facets" aria-busy={isLoading}>
      <Field label="Values of">
        <select onChange={({ currentTarget }) => setField(currentTarget.value as typeof field)}>
          {Object.entries(FIELDS).map(([id, { name }]) => (
            <option key={id} value={id} selected={id === field}>
              {name}
            </option>
          ))}
        </select>
      </Field>
      <ul aria-label="Values">
        {list?.data.map((facet) => (
          <li key={facet.id ?? facet.value}>
            {facet.value === null ? (
              <span class="muted">none</span>
            ) : (
              <button
                type="button"
                class="small quiet"
                onClick={() => {
                  close();
                  go(FIELDS[field].toFilter(facet));
                }}
              >
                <Text max={100}>{facet.value}</Text>
              </button>
            )}{' '}
            <span class="number muted">{formatNumber(facet.requests)}</span>
          </li>
        ))}
      </ul>
      <p class="muted" role="status">
        {list?.data.length === 0 && 'No requests.'}
        {list !== undefined &&
          list.others.values > 0 &&
          `${formatNumber(list.others.values)} other values: ${formatNumber(list.others.requests)}`}
      </p>
    </div>
  );
}
