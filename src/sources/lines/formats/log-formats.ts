import type { LogValues } from './access-log.js';
import { explainCombined, readCombined } from './combined-log.parser.js';
import { type JsonObject, objectDecoder } from '../../../records/decoding/decoders.js';
import type { FieldMap } from './field-map.js';
import { parseLogTime } from './log-times.js';

/** A format of access logs. */
export interface LogFormat {
  /** The name in `--format`. */
  readonly name: string;
  /** The name in messages. */
  readonly label: string;
  /** Whether an object of JSON, or the values of a line `name=value name=value`, have this format. */
  readonly matches?: (line: JsonObject) => boolean;
  /** The meaning of the values of an object. */
  readonly fields?: FieldMap;
  /** The forms of its lines of text, in the syntax of nginx or of Envoy. */
  readonly lines?: readonly string[];
  /** Whether its lines have exactly these values, with no further ones at their end. */
  readonly isExact?: boolean;
  /** Whether blanks pad the columns of its lines. */
  readonly isPadded?: boolean;
  /**
   * Reads the values of a line of text, if `VARIABLES` does not cover them; null if the line does not have
   * this format.
   */
  readonly read?: (values: readonly string[]) => LogValues | null;
  /**
   * Whether the server writes a backslash before a quote in a value; the default depends on the syntax of
   * `lines`.
   */
  readonly hasEscapes?: boolean;
  /**
   * Why a line of text does not have this format.
   * @param missing the name of the first value that was not found
   */
  readonly explainText?: (line: string, missing: string) => string;
  /** Why an object is not a request; undefined if it may be a request. */
  readonly explain?: (line: JsonObject) => string | undefined;
  /** Corrects values whose meaning differs from their name. */
  readonly correct?: (values: LogValues, line: JsonObject) => LogValues;
}

const has =
  (...names: readonly string[]) =>
  (line: JsonObject) =>
    names.every((name) => Object.hasOwn(line, name));
const hasAny =
  (...names: readonly string[]) =>
  (line: JsonObject) =>
    names.some((name) => Object.hasOwn(line, name));
const memberOf = (line: JsonObject, name: string): JsonObject =>
  objectDecoder.decode(Object.hasOwn(line, name) ? line[name] : undefined) ?? {};

const FORWARDED_FOR = [
  'http_x_forwarded_for',
  'proxy_add_x_forwarded_for',
  'http_forwarded',
  'http_cf_connecting_ip',
  'http_true_client_ip',
  'http_x_real_ip',
];

/** Variables of nginx, and names for the values of other servers. */
export const VARIABLES: FieldMap = {
  timestamp: ['request_creation_time', 'msec', 'time_iso8601', 'time_local', 'time_custom'],
  request: 'request',
  method: 'request_method',
  url: 'request_uri',
  path: ['uri', 'document_uri'],
  query: ['args', 'query_string'],
  host: ['http_host', 'host', 'server_name'],
  port: 'server_port',
  scheme: ['http_x_forwarded_proto', 'scheme', 'request_scheme'],
  tls: ['https', 'ssl_protocol', 'ssl_server_name'],
  status_code: ['status', 'elb_status_code'],
  client_ip: ['remote_addr', 'remote_host', 'realip_remote_addr', 'proxy_protocol_addr'],
  client_ip_port: 'client_ip_port',
  forwarded_for: FORWARDED_FOR,
  user: 'remote_user',
  request_size_bytes: ['content_length', 'request_length'],
  response_size_bytes: ['body_bytes_sent', 'bytes_sent'],
  response_time_ms: 'request_time_ms',
  response_time_s: ['request_time', 'processing_times', 'upstream_response_time'],
  response_time_us: 'request_time_us',
  response_time: 'request_time_text',
  trace_id: ['http_traceparent', 'otel_trace_id', 'opentelemetry_trace_id', 'trace_id'],
  request_headers: { pattern: /^http_(.+)/, hasUnderscores: true },
  response_headers: { pattern: /^sent_http_(.+)/, hasUnderscores: true },
};

const ENVOY_LINE = [
  '[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS%',
  '%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%"',
  '"%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"',
].join(' ');
const ISTIO_LINE = [
  '[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS%',
  '%RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% "%UPSTREAM_TRANSPORT_FAILURE_REASON%" %BYTES_RECEIVED%',
  '%BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%"',
  '"%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER_RAW% %UPSTREAM_LOCAL_ADDRESS%',
  '%DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%',
].join(' ');
/** A Classic Load Balancer does not write the type, and its lines end after the protocol. */
const ALB_LINE = [
  '$time_iso8601 $_ $client_ip_port $_ $processing_times $elb_status_code $_ $content_length $bytes_sent "$request"',
  '"$http_user_agent" $_ $_ $_ "$trace_id" "$_" "$_" $_ $request_creation_time',
].join(' ');
const NPM_REQUEST =
  '$request_method $scheme $host "$request_uri" [Client $remote_addr] [Length $body_bytes_sent] [Gzip $_]';

/** Common names in JSON logs whose members the operator can name. */
const COMMON: FieldMap = {
  ...VARIABLES,
  timestamp: [
    'msec',
    'time_iso8601',
    'time_local',
    'timestamp',
    '@timestamp',
    'time',
    'ts',
    'date',
    'datetime',
  ],
  method: ['request_method', 'method', 'http_method', 'verb'],
  url: ['request_uri', 'request_url'],
  path: ['uri', 'url', 'path', 'document_uri', 'request_path'],
  query: ['args', 'query_string', 'query'],
  host: ['http_host', 'host', 'server_name', 'vhost', 'domain', 'domain_http_host'],
  scheme: ['http_x_forwarded_proto', 'scheme', 'x_forwarded_proto', 'forwarded_proto'],
  status_code: ['status', 'status_code', 'response_status', 'http_status', 'code'],
  client_ip: ['remote_addr', 'client_ip', 'remote_ip', 'client', 'clientip', 'ip', 'remote', 'remoteIP'],
  forwarded_for: ['x_forwarded_for', 'xff', ...FORWARDED_FOR],
  user: ['remote_user', 'user'],
  request_size_bytes: ['content_length', 'request_length', 'bytes_in', 'bytes_received'],
  response_size_bytes: [
    'body_bytes_sent',
    'bytes_sent',
    'bytes',
    'bytes_out',
    'response_body_size',
    'size',
    'length',
  ],
  response_time_ms: [
    'request_time_ms',
    'response_time_ms',
    'duration_ms',
    'elapsed_ms',
    'latency_ms',
    'responseTime',
  ],
  response_time_us: ['request_time_us', 'duration_us', 'latency_us'],
  response_time: 'latency_human',
  trace_id: [
    'http_traceparent',
    'traceparent',
    'otel_trace_id',
    'opentelemetry_trace_id',
    'trace_id',
    'traceId',
  ],
  request_headers: {
    pattern: /^http_(.+)/,
    hasUnderscores: true,
    named: {
      'user-agent': ['user_agent', 'userAgent', 'agent', 'request_user_agent'],
      referer: ['referer', 'referrer', 'request_referer'],
    },
  },
};

const NGINX_NAMES = [
  'remote_addr',
  'request_uri',
  'request_method',
  'request_time',
  'body_bytes_sent',
  'http_user_agent',
  'time_local',
  'time_iso8601',
];

/** The formats of access logs. A line of text is tried with them in this order. */
export const FORMATS: readonly LogFormat[] = [
  {
    name: 'combined',
    label: 'the common or the combined format',
    lines: [
      '$before [$time_local] "$request" $status $body_bytes_sent$behind',
      // After the time of syslog.
      '$before "$request" $status $body_bytes_sent$behind',
    ],
    read: readCombined,
    explainText: explainCombined,
  },
  {
    name: 'traefik',
    label: 'Traefik',
    matches: hasAny('DownstreamStatus', 'RequestMethod'),
    fields: {
      timestamp: ['StartUTC', 'StartLocal', 'time'],
      method: 'RequestMethod',
      url: 'RequestPath',
      host: ['RequestAddr', 'RequestHost'],
      scheme: 'RequestScheme',
      tls: 'TLSVersion',
      status_code: ['DownstreamStatus', 'OriginStatus'],
      client_ip: ['ClientHost', 'ClientAddr'],
      user: 'ClientUsername',
      request_size_bytes: 'RequestContentSize',
      response_size_bytes: ['DownstreamContentSize', 'OriginContentSize'],
      response_time_ns: 'Duration',
      trace_id: 'TraceId',
      request_headers: { pattern: /^request_(.+)/ },
      response_headers: { pattern: /^downstream_(.+)/ },
    },
  },
  {
    name: 'cloudflare',
    label: 'Cloudflare',
    matches: hasAny('ClientRequestMethod', 'EdgeResponseStatus', 'EdgeStartTimestamp'),
    fields: {
      timestamp: ['EdgeStartTimestamp', 'EdgeEndTimestamp'],
      method: 'ClientRequestMethod',
      url: 'ClientRequestURI',
      path: 'ClientRequestPath',
      host: 'ClientRequestHost',
      scheme: 'ClientRequestScheme',
      tls: 'ClientSSLProtocol',
      status_code: 'EdgeResponseStatus',
      client_ip: 'ClientIP',
      request_size_bytes: 'ClientRequestBytes',
      response_size_bytes: 'EdgeResponseBytes',
      request_headers: {
        object: 'RequestHeaders',
        named: { 'user-agent': 'ClientRequestUserAgent', referer: 'ClientRequestReferer', 'cf-ray': 'RayID' },
      },
      response_headers: { object: 'ResponseHeaders' },
    },
    correct: correctCloudflare,
  },
  {
    name: 'gcp',
    label: 'Google Cloud',
    matches: (line) => has('requestMethod')(memberOf(line, 'httpRequest')),
    fields: {
      timestamp: ['timestamp', 'receiveTimestamp'],
      method: 'httpRequest.requestMethod',
      url: 'httpRequest.requestUrl',
      status_code: 'httpRequest.status',
      client_ip: 'httpRequest.remoteIp',
      request_size_bytes: 'httpRequest.requestSize',
      response_size_bytes: 'httpRequest.responseSize',
      response_time: 'httpRequest.latency',
      trace_id: 'trace',
      request_headers: { named: { 'user-agent': 'httpRequest.userAgent', referer: 'httpRequest.referer' } },
    },
  },
  {
    name: 'azure',
    label: 'Azure Application Gateway or Front Door',
    matches: (line) => has('httpMethod', 'requestUri')(memberOf(line, 'properties')),
    fields: {
      timestamp: ['time', 'timeStamp'],
      method: 'properties.httpMethod',
      url: 'properties.originalRequestUriWithArgs',
      path: 'properties.requestUri',
      query: 'properties.requestQuery',
      host: ['properties.originalHost', 'properties.host', 'properties.hostName', 'properties.hostname'],
      scheme: 'properties.requestProtocol',
      tls: ['properties.sslEnabled', 'properties.securityProtocol'],
      status_code: ['properties.httpStatus', 'properties.httpStatusCode'],
      client_ip: ['properties.clientIP', 'properties.clientIp'],
      request_size_bytes: ['properties.receivedBytes', 'properties.requestBytes'],
      response_size_bytes: ['properties.sentBytes', 'properties.responseBytes'],
      response_time_s: 'properties.timeTaken',
      request_headers: {
        named: {
          'user-agent': 'properties.userAgent',
          referer: ['properties.referer', 'properties.referrer'],
        },
      },
    },
    correct: correctAzure,
  },
  {
    name: 'apigateway',
    label: 'Amazon API Gateway',
    matches: (line) =>
      hasAny('httpMethod', 'routeKey')(line) && hasAny('requestId', 'requestTime', 'requestTimeEpoch')(line),
    fields: {
      timestamp: ['requestTimeEpoch', 'requestTime'],
      method: 'httpMethod',
      url: 'path',
      route: ['resourcePath', 'routeKey'],
      host: 'domainName',
      status_code: 'status',
      client_ip: ['ip', 'sourceIp'],
      user: ['user', 'caller'],
      response_size_bytes: 'responseLength',
      response_time_ms: ['responseLatency', 'latency'],
      trace_id: ['xrayTraceId', 'traceId'],
      request_headers: { named: { 'user-agent': 'userAgent' } },
    },
    correct: correctApiGateway,
  },
  {
    name: 'kong',
    label: 'Kong',
    matches: has('latencies', 'started_at'),
    fields: {
      timestamp: 'started_at',
      method: 'request.method',
      url: ['request.url', 'request.uri'],
      status_code: 'response.status',
      client_ip: 'client_ip',
      user: ['consumer.username', 'authenticated_entity.id'],
      request_size_bytes: 'request.size',
      response_size_bytes: 'response.size',
      response_time_ms: 'latencies.request',
      trace_id: 'trace_id.w3c',
      request_headers: { object: 'request.headers' },
      response_headers: { object: 'response.headers' },
    },
  },
  {
    name: 'pino',
    label: 'pino-http',
    matches: (line) => has('method', 'url')(memberOf(line, 'req')) && has('res')(line),
    fields: {
      timestamp: 'time',
      method: 'req.method',
      url: 'req.url',
      host: ['req.host', 'req.hostname'],
      scheme: 'req.protocol',
      status_code: 'res.statusCode',
      client_ip: ['req.remoteAddress', 'req.ip'],
      request_size_bytes: 'req.headers.content-length',
      response_size_bytes: 'res.headers.content-length',
      response_time_ms: 'responseTime',
      trace_id: 'trace_id',
      request_headers: { object: 'req.headers' },
      response_headers: { object: 'res.headers' },
    },
  },
  {
    name: 'ecs',
    label: 'Elastic Common Schema',
    matches: (line) => Object.hasOwn(line, 'http.request.method') || has('request')(memberOf(line, 'http')),
    fields: {
      timestamp: ['@timestamp', 'event.start', 'event.created'],
      method: 'http.request.method',
      url: ['url.original', 'url.full'],
      path: 'url.path',
      query: 'url.query',
      host: 'url.domain',
      port: 'url.port',
      scheme: 'url.scheme',
      status_code: 'http.response.status_code',
      client_ip: ['client.ip', 'source.ip', 'client.address', 'source.address'],
      user: 'user.name',
      request_size_bytes: ['http.request.body.bytes', 'http.request.bytes'],
      response_size_bytes: ['http.response.body.bytes', 'http.response.bytes'],
      response_time_ns: 'event.duration',
      trace_id: 'trace.id',
      request_headers: {
        object: 'http.request.headers',
        named: { 'user-agent': ['user_agent.original', 'user_agent'], referer: 'http.request.referrer' },
      },
      response_headers: { object: 'http.response.headers' },
    },
  },
  {
    name: 'envoy',
    label: 'Envoy',
    matches: (line) => hasAny('response_flags')(line) || has('response_code', 'start_time')(line),
    fields: {
      timestamp: ['start_time', 'timestamp', '@timestamp', 'time'],
      method: ['method', ':method', 'request_method'],
      url: [
        'x_envoy_original_path',
        'x-envoy-original-path',
        'x-envoy-origin-path',
        'original_path',
        'path',
        ':path',
        'request_path',
        'uri',
      ],
      host: ['authority', ':authority', 'host', 'requested_server_name'],
      scheme: ['x_forwarded_proto', 'x-forwarded-proto', 'scheme', ':scheme'],
      tls: ['requested_server_name', 'downstream_tls_version'],
      status_code: ['response_code', 'status'],
      client_ip: [
        'downstream_remote_address',
        'downstream_remote_address_without_port',
        'downstream_direct_remote_address',
        'client_ip',
      ],
      forwarded_for: ['x_forwarded_for', 'x-forwarded-for'],
      user: ['user', 'username'],
      request_size_bytes: 'bytes_received',
      response_size_bytes: 'bytes_sent',
      response_time_ms: 'duration',
      trace_id: ['traceparent', 'trace_id', 'traceId', 'x_b3_traceid', 'x-b3-traceid'],
      request_headers: {
        named: {
          'user-agent': ['user_agent', 'user-agent'],
          referer: ['referer', 'referrer'],
          'x-request-id': ['request_id', 'x-request-id', 'x_request_id'],
        },
      },
    },
    lines: [ENVOY_LINE, ISTIO_LINE],
  },
  {
    name: 'caddy',
    label: 'Caddy',
    matches: (line) => hasAny('resp_headers')(line) || has('uri')(memberOf(line, 'request')),
    fields: {
      timestamp: ['ts', 'time', 'timestamp'],
      method: 'request.method',
      url: 'request.uri',
      host: 'request.host',
      tls: 'request.tls',
      status_code: 'status',
      client_ip: ['request.client_ip', 'request.remote_ip', 'request.remote_addr'],
      user: 'user_id',
      request_size_bytes: 'bytes_read',
      response_size_bytes: 'size',
      response_time: 'duration',
      trace_id: ['traceID', 'trace_id'],
      request_headers: { object: 'request.headers' },
      response_headers: { object: 'resp_headers' },
    },
    explain: explainCaddy,
    correct: correctCaddy,
  },
  {
    name: 'fastly',
    label: 'Fastly',
    matches: hasAny('fastly_server', 'fastly_is_edge', 'fastly_info_state'),
    fields: COMMON,
    correct: correctTarget,
  },
  {
    name: 'nginx',
    label: 'nginx',
    matches: hasAny(...NGINX_NAMES),
    fields: COMMON,
    correct: correctTarget,
  },
  {
    name: 'heroku',
    label: "Heroku's router",
    matches: (line) => has('method', 'path')(line) && hasAny('dyno', 'fwd')(line),
    fields: {
      method: 'method',
      url: 'path',
      host: 'host',
      scheme: 'protocol',
      status_code: 'status',
      client_ip: 'fwd',
      response_size_bytes: 'bytes',
      response_time: 'service',
      request_headers: { named: { 'x-request-id': 'request_id' } },
    },
  },
  {
    name: 'alb',
    label: 'an AWS load balancer',
    lines: [`$type ${ALB_LINE}`, ALB_LINE],
  },
  {
    name: 'haproxy',
    label: 'HAProxy',
    lines: [
      '$client_ip_port [$time_local] $_ $_/$_ $_/$_/$_/$_/$request_time_ms $status $bytes_sent $_ $_ $_ $_ $_ $_"$request"',
    ],
  },
  {
    name: 's3',
    label: 'Amazon S3',
    hasEscapes: false,
    lines: [
      '$_ $_ [$time_local] $remote_addr $remote_user $_ $_ $_ "$request" $status $_ $bytes_sent $_ $request_time_ms $_ ' +
        '"$http_referer" "$http_user_agent" $_ $_ $_ $ssl_cipher $_ $http_host $ssl_protocol $_',
    ],
  },
  {
    name: 'nginx-proxy-manager',
    label: 'nginx-proxy-manager',
    lines: [
      ...['$_ $upstream_status $status', '$status'].flatMap((status) =>
        ['[Sent-to $_] ', ''].map(
          (sentTo) => `[$time_local] ${status} - ${NPM_REQUEST} ${sentTo}"$http_user_agent" "$http_referer"`,
        ),
      ),
      // NPMplus
      '[$time_local] $host $remote_addr $request_time "$request" $status $body_bytes_sent $request_length $http_referer $http_user_agent',
    ],
  },
  {
    name: 'squid',
    label: 'Squid',
    isPadded: true,
    lines: [
      '$msec $request_time_ms $remote_addr $_/$status $bytes_sent $request_method $request_uri $remote_user $_ $_',
    ],
  },
  {
    name: 'aiohttp',
    label: 'aiohttp',
    lines: [
      '$remote_addr [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"',
    ],
  },
  {
    name: 'django',
    label: "Django's development server",
    lines: ['[$time_local] "$request" $status $body_bytes_sent'],
  },
  {
    name: 'gin',
    label: 'Gin',
    isPadded: true,
    lines: [
      '[GIN] $time_local | $status | $request_time_text | $remote_addr | $request_method "$request_uri"',
      '[GIN] $time_local | $status | $request_time_text | $remote_addr | $request_method $request_uri',
    ],
  },
  {
    name: 'uvicorn',
    label: 'Uvicorn',
    isPadded: true,
    lines: ['$client_ip_port - "$request" $status $_'],
  },
  {
    name: 'morgan',
    label: 'morgan',
    isExact: true,
    lines: [
      '$request_method $request_uri $status $request_time_ms ms - $body_bytes_sent',
      '$request_method $request_uri $status $body_bytes_sent - $request_time_ms ms',
      '$remote_addr $remote_user $request_method $request_uri HTTP/$_ $status $body_bytes_sent - $request_time_ms ms',
    ],
  },
  {
    name: 'json',
    label: 'JSON',
    fields: COMMON,
    correct: correctTarget,
  },
];

/** The format of an object that is recognized by its members. */
export function findJsonFormat(line: JsonObject): LogFormat | undefined {
  return FORMATS.find(({ matches }) => matches?.(line));
}

/** The member `request` may contain only the target. */
function correctTarget({ request, ...values }: LogValues): LogValues {
  if (typeof request !== 'string' || request.includes(' '))
    return { ...values, ...(request !== undefined && { request }) };
  return { ...values, path: request };
}

/**
 * Version 1 of the gateway writes whole milliseconds; all others write seconds. The gateway adds its own
 * names to the query.
 */
function correctAzure(values: LogValues, line: JsonObject): LogValues {
  const { response_time_s: taken, ...rest } = values;
  const isGateway = String(line.category).startsWith('ApplicationGateway');
  const corrected =
    isGateway && Number.isInteger(Number(taken)) ? { response_time_ms: taken } : { response_time_s: taken };
  return {
    ...rest,
    ...corrected,
    ...(String(rest.query).includes('X-AzureApplicationGateway') && { query: undefined }),
  };
}

/** The log has the route, but not always the path. */
function correctApiGateway(values: LogValues): LogValues {
  // `GET /pets/{id}`, or `$default`.
  const route =
    typeof values.route === 'string' ? /^(?:[A-Z]+ )?(\/.*)$/s.exec(values.route)?.[1] : undefined;
  return { ...values, route, url: values.url ?? route, scheme: 'https' };
}

function correctCloudflare(
  values: LogValues,
  { EdgeStartTimestamp: start, EdgeEndTimestamp: end }: JsonObject,
): LogValues {
  // Whole seconds are too coarse for a difference.
  const isWhole = [start, end].every((time) => parseLogTime(time) % 1_000 === 0);
  return isWhole ? values : { ...values, response_time_ms: parseLogTime(end) - parseLogTime(start) };
}

/** An error of a request is logged in addition to the request itself. */
function explainCaddy(line: JsonObject): string | undefined {
  const isError = typeof line.logger === 'string' && line.logger.startsWith('http.log.error');
  const isRequest = objectDecoder.decode(line.request) !== undefined && !isError;
  return isRequest ? undefined : 'line: is a message of Caddy, not a request';
}

/** If no handler wrote a response, the client got an empty one with 200 (caddyserver/caddy#5182). */
function correctCaddy(values: LogValues): LogValues {
  return values.status_code === 0 ? { ...values, status_code: 200 } : values;
}
