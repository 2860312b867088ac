import type { ChangedGroup, Consumer, MetricsRow } from './api.js';
import { EndpointName, Status, Text } from './parts.js';
import { useSession } from './session.js';
import { type State, toPattern } from './state.js';
import { WORDS } from './words.js';

/** An endpoint, a consumer or a status, by the members that it has. */
export type NamedGroup = Pick<MetricsRow | ChangedGroup, 'method' | 'path' | 'consumer_id' | 'status_code'>;
type Names = ReadonlyMap<number, Consumer> | undefined;

/** The name of a group. A click filters by it. */
export function GroupName({ group, names }: { group: NamedGroup; names: Names }) {
  const { state, go } = useSession();
  const filter = toFilter(group);
  const name = <Name group={group} names={names} />;
  const isChosen =
    filter && Object.entries(filter).every(([key, value]) => state[key as keyof State] === value);
  if (!filter || isChosen) return <span>{name}</span>;
  return (
    <button type="button" onClick={() => go(filter)}>
      {name}
    </button>
  );
}

/** The filters that only this group passes; null if there are none. */
function toFilter({ method = null, path, consumer_id, status_code }: NamedGroup): Partial<State> | null {
  if (typeof path === 'string') return { method, path: toPattern(path) };
  if (typeof consumer_id === 'number') return { consumer: consumer_id };
  return typeof status_code === 'number' ? { status: String(status_code) } : null;
}

function Name({
  group: { method, path, consumer_id, status_code },
  names,
}: {
  group: NamedGroup;
  names: Names;
}) {
  if (status_code !== undefined) return <Status code={status_code ?? 0} />;
  if (path === null)
    return (
      <span class="muted" title={WORDS.noRoute}>
        No route
      </span>
    );
  if (path !== undefined) return <EndpointName method={method} path={path} />;
  if (typeof consumer_id !== 'number')
    return (
      <span class="muted" title={WORDS.noConsumer}>
        No consumer
      </span>
    );
  if (!names) return <span class="placeholder" />;
  const consumer = names.get(consumer_id);
  if (!consumer) return <>Consumer {consumer_id}</>;
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
