import { Changes } from './changes.js';
import { Chart } from './chart.js';
import { MarkList, useMarks } from './marks.js';
import { useOverviewData } from './overview-data.js';
import { Panel } from './parts.js';
import { PointsTable } from './points-table.js';
import { hasSearch, sayNothing, useSession } from './session.js';
import { type Interval, listIntervals } from './time.js';
import { TopTable } from './top-table.js';
import { Totals } from './totals.js';

const INTERVALS: Record<Interval, string> = { minute: 'By minute', hour: 'By hour', day: 'By day' };
/** Statuses before a click on "more". */
const STATUSES = 6;

/** Traffic over time, and the endpoints, consumers and statuses behind it. */
export function Overview() {
  const { app, state, go } = useSession();
  const { window, series, totals, endpoints, consumers, statuses, names } = useOverviewData();
  const { points, window: charted } = series.value ?? {};
  const hasNothing = points?.every(({ requests }) => requests === 0) && !totals.value?.data[0]?.requests;
  const marks = useMarks(window);
  const against = charted?.before?.name ?? '';
  return (
    <main class="overview" id="main">
      <h1 class="visually-hidden">Overview of {app.name}</h1>
      {hasSearch(state) && (
        <p class="note muted">
          Counts are not kept by URL, duration, size, client, exception or ID: these filters narrow Requests
          alone.
        </p>
      )}
      <Panel
        title="Totals"
        curl={totals.value?.curl}
        isBusy={totals.isLoading}
        actions={
          <button
            type="button"
            class="small"
            aria-pressed={state.changed !== null}
            onClick={() =>
              go({ changed: state.changed === null ? 'requests' : null, release: null }, 'replace')
            }
          >
            What changed?
          </button>
        }
      >
        <Totals load={totals} series={series.value} />
      </Panel>
      {state.changed !== null && <Changes window={window} measure={state.changed} />}
      <Panel
        title="Traffic"
        curl={series.value?.curl}
        isBusy={series.isLoading}
        class="traffic"
        actions={
          <>
            <select
              class="small quiet"
              aria-label="Interval"
              onChange={({ currentTarget }) => go({ interval: currentTarget.value as Interval }, 'replace')}
            >
              {charted &&
                listIntervals(charted.from, charted.to, Date.now()).map((interval) => (
                  <option key={interval} value={interval} selected={charted.interval === interval}>
                    {INTERVALS[interval]}
                  </option>
                ))}
            </select>
            <button
              type="button"
              class="small quiet"
              aria-pressed={state.isTable}
              onClick={() => go({ isTable: !state.isTable }, 'replace')}
            >
              As table
            </button>
          </>
        }
      >
        <div class="traffic-body">
          {points && charted && state.isTable && (
            <PointsTable points={points} window={charted} marks={marks} />
          )}
          {points && charted && !state.isTable && (
            <Chart
              points={points}
              window={charted}
              marks={marks}
              hasTimes={totals.value?.data[0]?.response_time_p95 !== null}
              onZoom={(from, to) => go({ range: { from, to }, interval: null })}
            />
          )}
          {hasNothing && <p class="nothing">{sayNothing(state)}</p>}
        </div>
        <MarkList marks={marks} window={window} />
      </Panel>
      <div class="columns">
        <TopTable title="Endpoints" of="Endpoint" load={endpoints} names={names} against={against} />
        <TopTable
          title="Consumers"
          of="Consumer"
          load={{ ...consumers, isLoading: consumers.isLoading || !names }}
          names={names}
          against={against}
        />
        <TopTable
          title="Statuses"
          of="Status"
          load={statuses}
          names={names}
          against={against}
          length={STATUSES}
        />
      </div>
    </main>
  );
}
