import { useEffect, useMemo, useRef } from 'preact/hooks';
import { ApiFailure, type ExportQuery, type RequestDetails, type RequestLog } from './api.js';
import { AppLogs } from './app-logs.js';
import { Code, LongText, Masked, Pairs } from './captured-text.js';
import { toRequestCurl } from './curl.js';
import { useExport } from './export.js';
import { formatBytes, formatMs, formatNumber } from './format.js';
import { isMasked, toSentBody } from './json.js';
import { ApiRequest, CloseButton, CopyButton, Fact, Method, SentryLink, Status, Text } from './parts.js';
import { linkTo, useLoad, useSession } from './session.js';
import { NO_FILTERS, toPattern } from './state.js';
import { formatTime, toIso } from './time.js';
import { Trace } from './trace.js';
import { Waterfall } from './waterfall.js';

const TABS = ['request', 'response', 'exception', 'logs', 'spans'] as const;
type Tab = (typeof TABS)[number];
const NAMES: Record<Tab, string> = {
  request: 'Request',
  response: 'Response',
  exception: 'Exception',
  logs: 'Logs',
  spans: 'Spans',
};
const HOW_TO_CAPTURE = 'Most SDKs capture none by default: docs/monitor.md says how to switch it on.';
/** Requests within this time are neighbours. */
const NEAR_MS = 5 * 60_000;

/** One request with all its captured data. */
export function Details(props: {
  uuid: string;
  /** The same request in the list, if the list has it. */
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
              <Method>{details.method}</Method>
              <span class="clip">
                <Text>{details.path ?? details.url}</Text>
              </span>
            </>
          ) : (
            'Request'
          )}
        </h2>
        {value && <ApiRequest curl={value.curl} of="Request" />}
        <CloseButton close={close} />
      </header>
      <div class="scroll" tabIndex={-1}>
        {isUnknown && (
          <p class="nothing">
            There is no such request, or it is older than 15 days, or its endpoint is excluded.
          </p>
        )}
        {!details && !isUnknown && <span class="placeholder tall" />}
        {details && <Summary details={details} log={log} />}
        {value && <Tabs details={value.data} logsLeftOut={value.logsLeftOut} chosen={state.tab} />}
      </div>
    </aside>
  );
}

/** The request does not exist, or the address has no UUID. The panel says so; this is not a failure. */
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
  const curl = useMemo(() => toRequestCurl(details), [details]);
  // Unlike the list, the details have 0 for an unknown size.
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
        <DownloadHar of={details} />
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

/** Saves the request for tools that read HTTP archives, with what the key may see. */
function DownloadHar({ of: { timestamp, request_uuid } }: { of: RequestDetails }) {
  const { isBusy, said, save } = useExport();
  const body: ExportQuery = {
    format: 'har',
    since: timestamp,
    until: toIso(Date.parse(timestamp) + 1),
    filters: [{ field: 'request_uuid', op: 'eq', value: request_uuid }],
  };
  return (
    <>
      <button
        type="button"
        class="small"
        disabled={isBusy}
        onClick={() => void save(body, `${request_uuid}.har`)}
      >
        Download HAR
      </button>
      <span role="status">{said}</span>
    </>
  );
}

function Tabs(props: { details: RequestDetails; logsLeftOut: number; chosen: string | null }) {
  const { details, logsLeftOut, chosen } = props;
  const { go } = useSession();
  const { exception, logs, spans } = details;
  const counts: Partial<Record<Tab, number>> = { logs: logs.length + logsLeftOut, spans: spans.length };
  const tabs = TABS.filter((tab) => tab !== 'exception' || exception !== null);
  const first = exception === null ? 'request' : 'exception';
  const tab = tabs.find((entry) => entry === chosen) ?? first;
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
        {tabs.map((entry) => (
          <button
            key={entry}
            id={`tab-${entry}`}
            type="button"
            role="tab"
            aria-selected={entry === tab}
            aria-controls="tab-panel"
            tabIndex={entry === tab ? 0 : -1}
            onClick={() => go({ tab: entry }, 'replace')}
          >
            {NAMES[entry]}
            {counts[entry] !== undefined && <span class="count">{formatNumber(counts[entry])}</span>}
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
            <SentryLink event={exception.sentry_event_id} />
            <Code text={exception.stacktrace} name="Stack trace" />
          </>
        )}
        {tab === 'logs' && <AppLogs details={details} leftOut={logsLeftOut} />}
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
        <p class="muted">No headers were captured. {HOW_TO_CAPTURE}</p>
      ) : (
        <Pairs
          pairs={headers.map(([name = '', value = '']) => [
            name,
            isMasked(value) ? <Masked /> : <LongText text={value} />,
          ])}
        />
      )}
      <h3>Body</h3>
      {body === null ? (
        <p class="muted">No body was captured. {HOW_TO_CAPTURE}</p>
      ) : (
        <Code text={toSentBody(body, headers)} name="Body" isJson />
      )}
    </>
  );
}
