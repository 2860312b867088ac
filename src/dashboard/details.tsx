import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiFailure, type RequestDetails, type RequestLog, type Span, quote } from './api.js';
import { formatBytes, formatMs, formatNumber } from './format.js';
import { formatJson, isMasked } from './json.js';
import { ApiRequest, CopyButton, Status, Text } from './parts.js';
import { linkTo, useLoad, useSession } from './session.js';
import { NO_FILTERS, toPattern } from './state.js';
import { formatTime, toIso } from './time.js';

const TABS = ['request', 'response', 'exception', 'logs', 'spans'] as const;
type Tab = (typeof TABS)[number];
const NAMES: Record<Tab, string> = {
  request: 'Request',
  response: 'Response',
  exception: 'Exception',
  logs: 'Logs',
  spans: 'Spans',
};
/** Neighbours of a request are looked for this much before and after it. */
const NEAR_MS = 5 * 60_000;
const TRACE_MS = 15 * 60_000;

/** One request with all that was captured of it. */
export function Details(props: {
  uuid: string;
  /** The same request in the list, where it is there. */
  log: RequestLog | undefined;
  close: () => void;
}) {
  const { uuid, log, close } = props;
  const { api, app, state } = useSession();
  const { value, failure } = useLoad(`request ${app.id} ${uuid}`, () =>
    api.requestDetails(app.id, uuid).catch(toUnknown),
  );
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus({ preventScroll: true }), []);
  const details = value?.data;
  const isUnknown = value === null;
  return (
    <aside class="details panel" aria-labelledby="details-title" aria-busy={value === undefined && !failure}>
      <header>
        <h2 id="details-title" tabIndex={-1} ref={title}>
          {details ? (
            <>
              <Status code={details.status_code} />
              <span class="method">
                <Text max={20}>{details.method}</Text>
              </span>
              <span class="clip">
                <Text>{details.path ?? details.url}</Text>
              </span>
            </>
          ) : (
            'Request'
          )}
        </h2>
        {value && <ApiRequest curl={value.curl} of="Request" />}
        <button
          type="button"
          class="small quiet close"
          aria-label="Close"
          aria-keyshortcuts="Escape"
          onClick={close}
        >
          ×
        </button>
      </header>
      <div class="scroll" tabIndex={-1}>
        {isUnknown && (
          <p class="nothing">
            There is no such request, or it is older than 15 days, or its endpoint is excluded.
          </p>
        )}
        {!details && !isUnknown && <span class="placeholder tall" />}
        {details && <Summary details={details} log={log} />}
        {details && <Tabs details={details} chosen={state.tab} />}
      </div>
    </aside>
  );
}

/** There is no such request, or the address has no UUID: the panel says so, and nothing has failed. */
function toUnknown(error: unknown): null {
  if (error instanceof ApiFailure && [404, 422].includes(error.status)) return null;
  throw error;
}

function Summary({ details, log }: { details: RequestDetails; log: RequestLog | undefined }) {
  const { state } = useSession();
  const { zone } = state;
  const time = Date.parse(details.timestamp);
  const near = { ...NO_FILTERS, range: { from: time - NEAR_MS, to: time + NEAR_MS }, isTail: false };
  const { consumer_id, path, method, trace_id } = details;
  const curl = useMemo(() => toCurl(details), [details]);
  // Unlike the list, the details have 0 for a size that is unknown.
  const received = log ? log.request_size_bytes : details.request_size_bytes || null;
  const sent = log ? log.response_size_bytes : details.response_size_bytes || null;
  return (
    <div class="summary">
      <p class="url">
        <Text max={2000}>{details.url}</Text>
      </p>
      <dl class="facts">
        <Fact name="Time">{formatTime(time, 'full', zone)}</Fact>
        <Fact name="Duration">{formatMs(details.response_time_ms)}</Fact>
        <Fact name="Received">{formatBytes(received)}</Fact>
        <Fact name="Sent">{formatBytes(sent)}</Fact>
        <Fact name="Environment">
          <Text>{details.env}</Text>
        </Fact>
        <Fact name="Consumer">{details.consumer === null ? '–' : <Text>{details.consumer}</Text>}</Fact>
        <Fact name="Client">
          {details.client_ip === null ? '–' : <Text>{details.client_ip}</Text>}
          {details.client_country_iso_code !== null && (
            <> · {<Text>{details.client_country_iso_code}</Text>}</>
          )}
        </Fact>
        <Fact name="UUID">
          <code>{details.request_uuid}</code>
        </Fact>
      </dl>
      <div class="buttons">
        {curl !== null && <CopyButton text={curl} label="Copy as curl" />}
        {consumer_id !== null && consumer_id !== undefined && (
          <a class="button small" href={linkTo(state, { ...near, consumer: consumer_id })}>
            Same consumer
          </a>
        )}
        {path !== null && (
          <a class="button small" href={linkTo(state, { ...near, path: toPattern(path), method })}>
            Same endpoint
          </a>
        )}
      </div>
      {trace_id !== null && <Trace id={trace_id} time={time} uuid={details.request_uuid} />}
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The requests of the same trace, asked for by a button: the search costs a request of its own. */
function Trace({ id, time, uuid }: { id: string; time: number; uuid: string }) {
  const { api, app, state } = useSession();
  const [isWanted, setIsWanted] = useState(false);
  const since = toIso(Math.floor((time - TRACE_MS) / 1000) * 1000);
  const { value } = useLoad(isWanted ? `trace ${id}` : null, () => api.trace(app.id, id, since));
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
          {others.map((one) => (
            <li key={one.request_uuid}>
              <Status code={one.status_code} />{' '}
              <a href={linkTo(state, { request: one.request_uuid, tab: null })}>
                <span class="method">
                  <Text max={20}>{one.method}</Text>
                </span>{' '}
                <Text>{one.path ?? one.url}</Text>
              </a>{' '}
              <span class="muted">{formatMs(one.response_time_ms)}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Tabs({ details, chosen }: { details: RequestDetails; chosen: string | null }) {
  const { go } = useSession();
  const { exception, logs, spans } = details;
  const counts: Partial<Record<Tab, number>> = { logs: logs.length, spans: spans.length };
  const tabs = TABS.filter((tab) => tab !== 'exception' || exception !== null);
  const first = exception === null ? 'request' : 'exception';
  const tab = tabs.find((one) => one === chosen) ?? first;
  const list = useRef<HTMLDivElement>(null);
  const press = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next =
      step === undefined ? undefined : tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    if (!next) return;
    event.preventDefault();
    go({ tab: next }, 'replace');
    list.current?.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label="Captured data" ref={list} onKeyDown={press}>
        {tabs.map((one) => (
          <button
            key={one}
            id={`tab-${one}`}
            type="button"
            role="tab"
            aria-selected={one === tab}
            aria-controls="tab-panel"
            tabIndex={one === tab ? 0 : -1}
            onClick={() => go({ tab: one }, 'replace')}
          >
            {NAMES[one]}
            {counts[one] !== undefined && <span class="count">{formatNumber(counts[one])}</span>}
          </button>
        ))}
      </div>
      <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {tab === 'request' && <Message headers={details.request_headers} body={details.request_body_json} />}
        {tab === 'response' && (
          <Message headers={details.response_headers} body={details.response_body_json} />
        )}
        {tab === 'exception' && exception && (
          <>
            <p class="exception">
              <strong>
                <Text>{exception.type}</Text>
              </strong>{' '}
              <Text max={2000}>{exception.message}</Text>
            </p>
            <Code text={exception.stacktrace} name="Stack trace" />
          </>
        )}
        {tab === 'logs' && <Logs details={details} />}
        {tab === 'spans' && <Waterfall spans={spans} />}
      </div>
    </>
  );
}

function Message({ headers, body }: { headers: string[][]; body: string | null }) {
  return (
    <>
      <h3>Headers</h3>
      {headers.length === 0 ? (
        <p class="muted">No headers were captured.</p>
      ) : (
        <table class="headers">
          <tbody>
            {headers.map(([name = '', value = ''], index) => (
              <tr key={index}>
                <th scope="row">
                  <Text>{name}</Text>
                </th>
                <td>{isMasked(value) ? <Masked /> : <LongText text={value} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <h3>Body</h3>
      {body === null ? <p class="muted">No body was captured.</p> : <Code text={body} name="Body" isJson />}
    </>
  );
}

function Masked() {
  return (
    <span
      class="masked"
      title="The client library masked this value before it was sent, or this service before it was stored."
    >
      masked
    </span>
  );
}

/** More is shown by a button. */
const CUT = 1000;
const CUT_CODE = 10_000;
/** Beyond, a text is shown as it came. */
const MAX_FORMATTED = 200_000;

function LongText({ text }: { text: string }) {
  const [isWhole, setIsWhole] = useState(false);
  return (
    <>
      <Text max={isWhole ? Infinity : CUT}>{text}</Text>
      {!isWhole && text.length > CUT && <ShowAll length={text.length} press={setIsWhole} />}
    </>
  );
}

function ShowAll({ length, press }: { length: number; press: (isWhole: boolean) => void }) {
  return (
    <button type="button" class="small" onClick={() => press(true)}>
      Show all {formatNumber(length)} characters
    </button>
  );
}

/** A text with its lines; JSON laid out and coloured. */
function Code({ text, name, isJson = false }: { text: string; name: string; isJson?: boolean }) {
  const [isWhole, setIsWhole] = useState(false);
  const tokens = useMemo(
    () => (isJson && text.length <= MAX_FORMATTED ? formatJson(text) : null),
    [text, isJson],
  );
  let room = isWhole ? Infinity : CUT_CODE;
  const shown = tokens?.filter((token) => (room -= token.text.length) > -token.text.length);
  const isCut = !isWhole && (tokens ? room < 0 : text.length > CUT_CODE);
  return (
    <div class="code">
      <pre tabIndex={0} role="region" aria-label={name}>
        {shown ? (
          shown.map(({ kind, text: part }, index) =>
            kind === 'plain' ? (
              part
            ) : kind === 'masked' ? (
              <Masked key={index} />
            ) : (
              <span key={index} class={kind}>
                <Text max={isWhole ? Infinity : CUT_CODE}>{part}</Text>
              </span>
            ),
          )
        ) : (
          <Text max={isWhole ? Infinity : CUT_CODE}>{text}</Text>
        )}
      </pre>
      <div class="buttons">
        {isCut && <ShowAll length={text.length} press={setIsWhole} />}
        <CopyButton text={text} label="Copy" />
      </div>
    </div>
  );
}

const MAX_LINES = 200;

function Logs({ details }: { details: RequestDetails }) {
  const [count, setCount] = useState(MAX_LINES);
  const { logs, timestamp } = details;
  if (logs.length === 0) return <p class="muted">No application logs were captured.</p>;
  const start = Date.parse(timestamp);
  return (
    <>
      <table class="app-logs">
        <tbody>
          {logs.slice(0, count).map((entry, index) => (
            <tr key={index} class={`level-${levelOf(entry.level)}`}>
              <td class="number" title={entry.timestamp}>
                {formatOffset(Date.parse(entry.timestamp) - start)}
              </td>
              <td class="level">
                <Text max={12}>{entry.level}</Text>
              </td>
              <td class="entry">
                <LongText text={entry.message} />
                {(entry.logger !== null || entry.file !== null) && (
                  <div class="muted">
                    <Text>
                      {[entry.logger, entry.file && `${entry.file}:${entry.line ?? '?'}`]
                        .filter(Boolean)
                        .join(' · ')}
                    </Text>
                  </div>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <MoreLines total={logs.length} count={count} setCount={setCount} />
    </>
  );
}

function levelOf(level: string): 'error' | 'warning' | 'other' {
  if (/^(error|err|fatal|critical|alert|emerg)/i.test(level)) return 'error';
  return /^warn/i.test(level) ? 'warning' : 'other';
}

function formatOffset(ms: number): string {
  return `${ms < 0 ? '−' : '+'}${formatMs(Math.abs(ms))}`;
}

function MoreLines(props: { total: number; count: number; setCount: (count: number) => void }) {
  if (props.total <= props.count) return null;
  return (
    <button type="button" class="small" onClick={() => props.setCount(Infinity)}>
      Show all {formatNumber(props.total)}
    </button>
  );
}

interface Placed {
  span: Span;
  depth: number;
}

/** The spans below their parents, each once: parents can be missing, or go round in circles. */
function arrange(spans: readonly Span[]): Placed[] {
  const sorted = spans.toSorted((a, b) => a.start_time_ns - b.start_time_ns);
  const ids = new Set(sorted.map(({ span_id }) => span_id));
  const children = Map.groupBy(sorted, ({ parent_span_id }) => parent_span_id);
  const placed = new Set<Span>();
  const result: Placed[] = [];
  const placeAll = (roots: readonly Span[]) => {
    const stack = roots.toReversed().map((span) => ({ span, depth: 0 }));
    for (let next = stack.pop(); next; next = stack.pop()) {
      if (placed.has(next.span)) continue;
      placed.add(next.span);
      result.push(next);
      const depth = next.depth + 1;
      for (const span of (children.get(next.span.span_id) ?? []).toReversed()) stack.push({ span, depth });
    }
  };
  placeAll(sorted.filter(({ parent_span_id }) => parent_span_id === null || !ids.has(parent_span_id)));
  placeAll(sorted);
  return result;
}

const MAX_INDENT = 8;

function Waterfall({ spans }: { spans: readonly Span[] }) {
  const [count, setCount] = useState(MAX_LINES);
  const placed = useMemo(() => arrange(spans), [spans]);
  if (spans.length === 0) return <p class="muted">No spans were captured.</p>;
  const start = Math.min(...spans.map(({ start_time_ns }) => start_time_ns));
  const total = Math.max(1, ...spans.map(({ end_time_ns }) => end_time_ns - start));
  return (
    <>
      <ol class="spans">
        {placed.slice(0, count).map(({ span, depth }, index) => {
          const left = ((span.start_time_ns - start) / total) * 100;
          const width = (Math.max(0, span.duration_ns) / total) * 100;
          return (
            <li key={index}>
              <details>
                <summary>
                  <span
                    class="span-name"
                    style={{ paddingInlineStart: `${Math.min(depth, MAX_INDENT) * 12}px` }}
                  >
                    <Text max={120}>{span.name}</Text>
                  </span>
                  <svg class="waterfall" preserveAspectRatio="none" aria-hidden="true">
                    <rect
                      class={span.status === 'ERROR' ? 'failed' : span.kind.toLowerCase()}
                      x={`${Math.min(left, 99.5)}%`}
                      y="4"
                      width={`${Math.max(0.5, Math.min(width, 100 - left))}%`}
                      height="8"
                      rx="1.5"
                    />
                  </svg>
                  <span class="number">
                    {span.status === 'ERROR' && <span class="failed-word">error </span>}
                    {formatMs(span.duration_ns / 1e6)}
                  </span>
                </summary>
                <dl class="facts">
                  <Fact name="Kind">{span.kind}</Fact>
                  <Fact name="Status">{span.status}</Fact>
                  <Fact name="Begins">{formatOffset((span.start_time_ns - start) / 1e6)}</Fact>
                  <Fact name="ID">
                    <code>
                      <Text>{span.span_id}</Text>
                    </code>
                  </Fact>
                </dl>
                <table class="headers">
                  <tbody>
                    {Object.entries(span.attributes).map(([name, value]) => (
                      <tr key={name}>
                        <th scope="row">
                          <Text>{name}</Text>
                        </th>
                        <td>
                          <LongText text={typeof value === 'string' ? value : JSON.stringify(value)} />
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </details>
            </li>
          );
        })}
      </ol>
      <MoreLines total={placed.length} count={count} setCount={setCount} />
    </>
  );
}

/** Names of headers (RFC 9110, section 5.1). No `@` among them: curl reads a file for `-H @name`. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
/** curl makes these itself. */
const OF_CONNECTION = new Set([
  'host',
  'content-length',
  'connection',
  'transfer-encoding',
  'accept-encoding',
]);

/** The monitored application's request as a command line; null: curl could do something else with the URL. */
function toCurl({ method, url, request_headers, request_body_json }: RequestDetails): string | null {
  if (!/^https?:\/\//i.test(url) || !/^[\w-]+$/.test(method)) return null;
  const headers = request_headers.filter(
    ([name = '']) => HEADER_NAME.test(name) && !OF_CONNECTION.has(name.toLowerCase()),
  );
  return [
    // Without -g, curl expands braces and brackets in the URL.
    `curl -g ${method === 'GET' ? '' : method === 'HEAD' ? '-I ' : `-X ${method} `}${quote(url)}`,
    ...headers.map(([name = '', value = '']) => `-H ${quote(`${name}: ${value}`)}`),
    ...(request_body_json === null ? [] : [`--data-raw ${quote(request_body_json)}`]),
  ].join(' \\\n  ');
}
