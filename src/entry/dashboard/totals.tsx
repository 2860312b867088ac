import type { ComponentChildren } from 'preact';
import type { MetricsRow } from './api.js';
import { Delta, type Direction } from './delta.js';
import { formatBytes, formatCompact, formatMs, formatShare } from './format.js';
import type { Compared, Series } from './overview-data.js';
import { compareSums } from './points.js';
import type { Load } from './session.js';
import { formatTime } from './time.js';
import { WORDS } from './words.js';

export function Totals({ load, series }: { load: Load<Compared>; series: Series | undefined }) {
  const row = load.value?.data[0];
  const earlier = load.value?.before?.[0];
  const isKnown = load.value !== undefined || load.failure !== undefined;
  const show = (text: string) => (isKnown ? text : undefined);
  const against = series?.window.before?.name ?? '';
  const sums = (name: 'requests' | 'bytes') => {
    const sum = series ? compareSums(series.points, name) : null;
    return (
      sum &&
      sum.before > 0 && (
        <Delta
          {...sum}
          format={name === 'bytes' ? formatBytes : formatCompact}
          title={`${against}, without the running period`}
        />
      )
    );
  };
  const values = (name: keyof MetricsRow, format: (value: number) => string, direction: Direction) => {
    const [now, before] = [row?.[name], earlier?.[name]];
    return (
      typeof now === 'number' &&
      typeof before === 'number' && (
        <Delta now={now} before={before} format={format} direction={direction} title={against} />
      )
    );
  };
  const [from, to] = [series?.dataFrom ?? null, series?.window.before?.to ?? 0];
  return (
    <dl class="totals">
      <Total name="Requests" value={show(load.value ? formatCompact(row?.requests ?? 0) : '–')}>
        {sums('requests')}
        {series && series.window.interval !== 'minute' && from !== null && from < to && (
          <span title="The data of the app do not cover the time to compare with.">
            {`data from ${formatTime(from, 'day', series.window.zone)}`}
          </span>
        )}
      </Total>
      <Total name="Error rate" value={show(formatShare(row?.error_rate))} word={WORDS.errorRate}>
        {values('error_rate', formatShare, 'less is better')}
      </Total>
      <Total name="Response time, p50" value={show(formatMs(row?.response_time_p50))} word={WORDS.p50}>
        {values('response_time_p50', formatMs, 'less is better')}
      </Total>
      <Total name="Response time, p95" value={show(formatMs(row?.response_time_p95))} word={WORDS.p95}>
        {values('response_time_p95', formatMs, 'less is better')}
      </Total>
      <Total name="Apdex, 500 ms" value={show(row?.apdex?.toFixed(2) ?? '–')} word={WORDS.apdex}>
        {values('apdex', (value) => value.toFixed(2), 'more is better')}
      </Total>
      <Total name="Data sent" value={show(formatBytes(row?.bytes_sent))}>
        {sums('bytes')}
      </Total>
    </dl>
  );
}

function Total(props: {
  name: string;
  value: string | undefined;
  /** What the name means. */
  word?: string;
  children?: ComponentChildren;
}) {
  return (
    <div>
      <dt title={props.word}>{props.name}</dt>
      <dd>
        {props.value ?? <span class="placeholder" />} <small>{props.children}</small>
      </dd>
    </div>
  );
}
