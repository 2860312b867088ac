import { parseAddress } from '../../common/ip-address.js';
import type { Header } from '../capture.js';
import {
  type ValueNames,
  findAddress,
  quotedAt,
  readRequestLine,
  readRequired,
  toNumber,
  toRecord,
  unescapeText,
} from './access-log.js';
import { traceIdDecoder } from './ndjson.capture.js';
import { LenientReader } from './decoders.js';
import type { LineResult, ParseOptions } from './parsed-request.js';
import { sanitize } from './text.js';
import { parseIngestTimestamp } from './timestamps.js';

/** The fields from the time up to the request. */
const FROM_TIME = new RegExp(
  [
    String.raw`(?<time>\d{4}-\d\d-\d\dT[\d:.]{5,20}Z) \S{1,256} (?<client>\S{1,64}) \S{1,64} `,
    String.raw`(?<waited>-1|\d{1,9}(?:\.\d{1,9})?) (?<served>-1|\d{1,9}(?:\.\d{1,9})?) (?<sent>-1|\d{1,9}(?:\.\d{1,9})?) `,
    String.raw`(?<status>\S{1,16}) \S{1,16} (?<received>-|\d{1,15}) (?<responded>-|\d{1,15}) (?=")`,
  ].join(''),
);
/** A Classic Load Balancer writes no type. */
const BEGINNING = new RegExp(`^(?:(?:https?|h2|grpcs|wss?) )?${FROM_TIME.source}`);
/** The balancer escapes quotes in values, so that no client can write this into a field. */
const NEXT_REQUEST = new RegExp(`${FROM_TIME.source}"[A-Z]{1,32} `);
/** An ID of AWS X-Ray: its time and its random part in hex, which are a trace ID without the hyphens. */
const TRACE_ROOT = /(?:^|;)Root=1-([\da-f]{8})-([\da-f]{24})(?:;|$)/i;
/** Fields of an Application Load Balancer after the user agent, from 0. */
const [TRACE, CREATED] = [3, 7];
/** Characters after the user agent that are searched for them. */
const MAX_FURTHER = 8_192;
/** A quoted field, or one without quotes. */
const FIELD = / (?:"((?:[^"\\]|\\.)*)"|(\S{0,2048}))/y;
const NAMES: ValueNames = {
  timestamp: 'the time',
  method: 'the request',
  url: 'the request',
  status_code: 'elb_status_code',
};
const NOT_ITS_FORM = {
  reason: 'line: must begin with the fields of an AWS load balancer, from its time to its "request"',
};
const NOT_THE_LAST = { reason: 'line: another request follows; each must end with a line feed' };

/** Whether a line begins as one of an AWS load balancer. */
export function isLoadBalancerLine(line: string): boolean {
  return BEGINNING.test(line);
}

/**
 * Reads one line of an access log of an AWS load balancer: of an Application Load Balancer, or of a Classic one, which
 * ends after the TLS protocol.
 *
 *     type time elb client:port target:port 0.001 0.020 0.000 200 200 received sent "request" "user agent" …
 *
 * The time of the request is that of its creation, or that of the response where there is none. The response time is the
 * sum of the three processing times; -1 in one of them means that it is not known. The trace ID is that of the root in
 * `X-Amzn-Trace-Id`. Sizes include headers. Runs in linear time. Never throws.
 */
export function parseLoadBalancerLine(line: string, options: ParseOptions = {}): LineResult {
  const beginning = BEGINNING.exec(line);
  const { groups = {} } = beginning ?? {};
  const request = beginning && quotedAt(line, beginning[0].length);
  if (!request) return NOT_ITS_FORM;
  const requestLine = readRequestLine(request.text);
  if ('reason' in requestLine) return requestLine;
  if (NEXT_REQUEST.test(line.slice(request.end))) return NOT_THE_LAST;
  const userAgentField = line[request.end + 1] === '"' ? quotedAt(line, request.end + 1) : null;
  const further =
    userAgentField === null
      ? []
      : readFields(line.slice(userAgentField.end, userAgentField.end + MAX_FURTHER));
  const created = parseIngestTimestamp(further[CREATED] ?? '');
  const required = readRequired(
    {
      timestamp: created ?? parseIngestTimestamp(groups.time ?? '') ?? NaN,
      method: requestLine.method,
      target: requestLine.target,
      origin: undefined,
      status: groups.status === '-' ? undefined : groups.status,
    },
    NAMES,
    options.baseUrl,
  );
  if ('reason' in required) return required;
  const text = userAgentField === null ? '' : sanitize(unescapeText(userAgentField.text));
  const userAgent = text === '' || text === '-' ? null : text;
  const request_headers: Header[] = userAgent === null ? [] : [['user-agent', userAgent]];
  const parsed = {
    ...required,
    user: null,
    client_ip: findClient(groups.client ?? ''),
    request_size_bytes: toSize(groups.received),
    response_size_bytes: toSize(groups.responded),
    response_time_ms: sumTimes([groups.waited, groups.served, groups.sent]),
    userAgent,
    request_headers,
    trace_id: readRoot(further[TRACE] ?? ''),
  };
  return toRecord(parsed, options, new LenientReader());
}

/** The fields up to that of the creation, without their quotes. */
function readFields(text: string): string[] {
  const fields: string[] = [];
  FIELD.lastIndex = 0;
  for (let field = FIELD.exec(text); field !== null && fields.length <= CREATED; field = FIELD.exec(text))
    fields.push(field[1] ?? field[2] ?? '');
  return fields;
}

/** An address with its port; IPv6 may have no brackets. */
function findClient(client: string): string | null {
  return findAddress(client, null) ?? parseAddress(client.replace(/:\d{1,5}$/, ''));
}

function toSize(text: string | undefined): unknown {
  return text === '-' ? null : toNumber(text);
}

function sumTimes(seconds: readonly (string | undefined)[]): number | null {
  const numbers = seconds.map(Number);
  return numbers.every((number) => number >= 0)
    ? numbers.reduce((sum, number) => sum + number, 0) * 1_000
    : null;
}

function readRoot(trace: string): string | null {
  const [, time = '', rest = ''] = TRACE_ROOT.exec(trace) ?? [];
  return traceIdDecoder.decode(time + rest) ?? null;
}
