import type { Consumer, MetricsRow } from './api.js';
import { Chart } from './chart.js';
import { useOverviewData } from './overview-data.js';
import { ApiRequest, Panel, Text } from './parts.js';
import { PointsTable } from './points-table.js';
import { sayNothing, useSession } from './session.js';
import { toPattern } from './state.js';
import { TopTable } from './top-table.js';
import { Totals } from './totals.js';

/** Traffic over time, and the endpoints and consumers behind it. */
export function Overview() {
  const { app, state, go } = useSession();
  const { series, totals, endpoints, consumers, names } = useOverviewData();
  const { points, window: charted } = series.value ?? {};
  const hasNothing = points?.every(({ requests }) => requests === 0) && !totals.value?.data[0]?.requests;
  return (
    <main class="overview" id="main">
      <h1 class="visually-hidden">Overview of {app.name}</h1>
      <section class="totals-box" aria-label="Totals">
        <Totals load={totals} points={points} />
        {totals.value && <ApiRequest curl={totals.value.curl} of="Totals" />}
      </section>
      <Panel
        title="Traffic"
        curl={series.value?.curl}
        isBusy={series.isLoading}
        class="traffic"
        actions={
          <button
            type="button"
            class="small quiet"
            aria-pressed={state.isTable}
            onClick={() => go({ isTable: !state.isTable }, 'replace')}
          >
            Table
          </button>
        }
      >
        <div class="traffic-body">
          {points && charted && state.isTable && <PointsTable points={points} window={charted} />}
          {points && charted && !state.isTable && (
            <Chart points={points} window={charted} onZoom={(from, to) => go({ range: { from, to } })} />
          )}
          {hasNothing && <p class="nothing">{sayNothing(state)}</p>}
        </div>
      </Panel>
      <div class="columns">
        <TopTable
          title="Endpoints"
          load={endpoints}
          name={(row) => <EndpointName row={row} />}
          isChosen={({ method, path }) => state.method === method && state.path === toPattern(path ?? '')}
          choose={({ method = null, path }) => go({ method, path: toPattern(path ?? '') })}
          canChoose={({ path }) => path !== null}
        />
        <TopTable
          title="Consumers"
          load={{ ...consumers, isLoading: consumers.isLoading || !names }}
          name={({ consumer_id }) => <ConsumerName id={consumer_id ?? null} names={names} />}
          isChosen={({ consumer_id }) => state.consumer === consumer_id}
          choose={({ consumer_id = null }) => go({ consumer: consumer_id })}
          canChoose={({ consumer_id }) => consumer_id !== null}
        />
      </div>
    </main>
  );
}

function EndpointName({ row: { method, path } }: { row: MetricsRow }) {
  if (path === null || path === undefined) return <span class="muted">No route</span>;
  return (
    <>
      <span class="method">
        <Text>{method ?? ''}</Text>
      </span>{' '}
      <Text>{path}</Text>
    </>
  );
}

function ConsumerName({
  id,
  names,
}: {
  id: number | null;
  names: ReadonlyMap<number, Consumer> | undefined;
}) {
  if (id === null) return <span class="muted">No consumer</span>;
  if (!names) return <span class="placeholder" />;
  const consumer = names.get(id);
  if (!consumer) return <>Consumer {id}</>;
  return (
    <>
      <Text>{consumer.name}</Text>
      {consumer.group && (
        <span class="muted">
          {' '}
          <Text>{consumer.group.name}</Text>
        </span>
      )}
    </>
  );
}
