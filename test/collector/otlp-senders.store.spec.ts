/**
 * Spans and metrics as the instrumentations of many languages, frameworks and proxies make them. They are
 * written after the sources of those; `npm run test:clients` runs real ones.
 */
import { randomBytes } from 'node:crypto';
import { AggregationTemporality } from '../../src/sources/otlp/generated/opentelemetry/proto/metrics/v1/metrics_pb.js';
import {
  Span_SpanKind,
  Status_StatusCode,
} from '../../src/sources/otlp/generated/opentelemetry/proto/trace/v1/trace_pb.js';
import { Client, TestService } from './setup/collector.js';
import {
  OtlpSender,
  attributes,
  metrics,
  nanosecondsAgo,
  readResponse,
  resource,
  serverSpan,
  traces,
} from './setup/otlp.js';

let service: TestService;
let client: Client;
let sender: OtlpSender;

beforeAll(async () => {
  service = await TestService.start({ COLLECTOR_SPAN_COUNT_DELAY_SECONDS: '0' });
});

afterAll(() => service.stop());

beforeEach(async () => {
  client = await service.tenant();
  sender = await OtlpSender.create(service, client);
});

type Values = Parameters<typeof attributes>[0];

interface Sender {
  name: string;
  scope: string;
  /** Of the scope. */
  version?: string;
  span: string;
  values: Values;
  /** The status of the span. */
  isError?: boolean;
  /** As List Apps has it; left out: unknown, so that the app keeps its first one. */
  framework?: string;
  request: object;
}

/** Details have 0 for an unknown size. */
const UNKNOWN_SIZES = { request_size_bytes: 0, response_size_bytes: 0 };

const SENDERS: Sender[] = [
  {
    name: 'Ruby on Rails, before the stable conventions',
    scope: 'OpenTelemetry::Instrumentation::Rack',
    span: 'GET /users/:id',
    values: {
      'http.method': 'GET',
      'http.host': 'localhost:3000',
      'http.scheme': 'http',
      'http.target': '/users/7?full=1',
      'http.user_agent': 'curl/8',
      'http.request.header.x_forwarded_for': '8.8.8.8',
      'http.response.header.content_type': 'text/html',
      'code.namespace': 'UsersController',
      'http.route': '/users/:id',
      'http.status_code': 200,
    },
    request: {
      method: 'GET',
      path: '/users/{id}',
      url: 'http://localhost:3000/users/7?full=1',
      status_code: 200,
      client_ip: '8.8.8.8',
      request_headers: [['x-forwarded-for', '8.8.8.8']],
      response_headers: [['content-type', 'text/html']],
      ...UNKNOWN_SIZES,
    },
  },
  {
    name: 'Laravel, whose routes have no first slash and whose sizes are texts',
    scope: 'io.opentelemetry.contrib.php.laravel',
    framework: 'laravel',
    span: 'GET /users/{id}',
    values: {
      'url.full': 'http://localhost/users/7?full=1',
      'http.request.method': 'GET',
      'http.request.body.size': '',
      'url.scheme': 'http',
      'network.protocol.version': 'HTTP/1.1',
      'network.peer.address': '10.0.0.2',
      'url.path': '/users/7?full=1',
      'server.address': 'localhost',
      'server.port': 80,
      'client.port': '54321',
      'client.address': '10.0.0.1',
      'http.route': 'users/{id}',
      'http.response.status_code': 200,
      'http.response.body.size': '512',
    },
    request: {
      path: '/users/{id}',
      url: 'http://localhost/users/7?full=1',
      status_code: 200,
      client_ip: '10.0.0.1',
      request_size_bytes: 0,
      response_size_bytes: 512,
    },
  },
  {
    name: 'a controller of ASP.NET Core',
    scope: 'Microsoft.AspNetCore',
    framework: 'aspnetcore',
    span: 'GET api/users/{id:int}',
    values: {
      'http.request.method': 'GET',
      'server.address': 'localhost',
      'server.port': 5000,
      'url.scheme': 'http',
      'url.path': '/api/users/7',
      'url.query': '?full=Redacted',
      'http.route': 'api/users/{id:int}',
      'http.response.status_code': 200,
    },
    request: {
      path: '/api/users/{id}',
      url: 'http://localhost:5000/api/users/7?full=Redacted',
      status_code: 200,
    },
  },
  {
    name: 'a view of Django, in both conventions',
    scope: 'opentelemetry.instrumentation.django',
    framework: 'django',
    span: 'GET users/<int:id>',
    values: {
      'http.method': 'GET',
      'http.request.method': 'GET',
      'http.server_name': 'localhost',
      'http.scheme': 'http',
      'url.scheme': 'http',
      'net.host.name': '127.0.0.1:8000',
      'server.address': '127.0.0.1:8000',
      'http.host': '127.0.0.1:8000',
      'net.host.port': 8000,
      'server.port': 8000,
      'http.target': '/users/7?full=1',
      'url.path': '/users/7',
      'url.query': 'full=1',
      'net.peer.ip': '127.0.0.1',
      'client.address': '127.0.0.1',
      'http.request.header.x_request_id': ['a', 'b'],
      'http.route': 'users/<int:id>',
      'http.status_code': 200,
      'http.response.status_code': 200,
    },
    request: {
      path: '/users/{id}',
      url: 'http://127.0.0.1:8000/users/7?full=1',
      status_code: 200,
      client_ip: '127.0.0.1',
      request_headers: [
        ['x-request-id', 'a'],
        ['x-request-id', 'b'],
      ],
    },
  },
  {
    name: 'a regular expression as the route of Django',
    scope: 'opentelemetry.instrumentation.django',
    framework: 'django',
    span: 'GET ^api/things/(?P<pk>[^/.]+)/$',
    values: {
      'http.request.method': 'GET',
      'http.route': '^api/things/(?P<pk>[^/.]+)/$',
      'http.response.status_code': 200,
    },
    request: { path: '/api/things/{pk}/', status_code: 200 },
  },
  {
    name: 'an optional part in a regular expression of Django',
    scope: 'opentelemetry.instrumentation.django',
    framework: 'django',
    span: 'GET ^comments/(?:page-(?P<page_number>[0-9]+)/)?$',
    values: {
      'http.request.method': 'GET',
      'http.route': '^comments/(?:page-(?P<page_number>[0-9]+)/)?$',
      'http.response.status_code': 200,
    },
    request: { path: '/comments/page-{page_number}/', status_code: 200 },
  },
  {
    name: 'Symfony, whose routes are names',
    scope: 'io.opentelemetry.contrib.php.symfony',
    framework: 'symfony',
    span: 'GET app_user_show',
    values: {
      'http.request.method': 'GET',
      'url.full': 'http://localhost/users/7',
      'http.route': 'app_user_show',
      'http.response.status_code': 200,
    },
    request: { path: 'app_user_show', url: 'http://localhost/users/7', status_code: 200 },
  },
  {
    name: 'Slim, whose route has a name',
    scope: 'io.opentelemetry.contrib.php.slim',
    span: 'GET show-user',
    values: {
      'http.request.method': 'GET',
      'url.full': 'http://localhost/users/7',
      'http.route': 'show-user',
      'http.response.status_code': 200,
    },
    request: { path: 'show-user', url: 'http://localhost/users/7', status_code: 200 },
  },
  {
    name: "Go's net/http, whose patterns have the method and may have a host",
    scope: 'go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp',
    framework: 'net/http',
    span: 'GET',
    values: {
      'http.request.method': 'GET',
      'http.route': 'GET api.example.com/users/{id}',
      'http.response.status_code': 200,
    },
    request: { path: '/users/{id}', status_code: 200 },
  },
  {
    name: 'Tornado before version 0.63, which has the path of the URL in the name of the span',
    scope: 'opentelemetry.instrumentation.tornado',
    version: '0.62b1',
    framework: 'tornado',
    span: 'GET /users/7',
    values: {
      'http.request.method': 'GET',
      'url.scheme': 'http',
      'server.address': '127.0.0.1:8888',
      'url.path': '/users/7',
      'url.full': '/users/7',
      'http.response.status_code': 200,
    },
    request: { path: null, url: 'http://127.0.0.1:8888/users/7' },
  },
  {
    name: 'Tornado, which has the route in the name of the span and no host in the URL',
    scope: 'opentelemetry.instrumentation.tornado',
    version: '0.63b0',
    framework: 'tornado',
    span: 'GET /users/{id}',
    values: {
      'http.request.method': 'GET',
      'url.scheme': 'http',
      'server.address': '127.0.0.1:8888',
      'url.path': '/users/7',
      'url.query': 'full=1',
      'url.full': '/users/7?full=1',
      'client.address': '127.0.0.1',
      'http.response.status_code': 200,
    },
    request: { path: '/users/{id}', url: 'http://127.0.0.1:8888/users/7?full=1' },
  },
  {
    name: 'aiohttp, where nothing matched',
    scope: 'opentelemetry.instrumentation.aiohttp_server',
    framework: 'aiohttp',
    span: 'GET',
    values: {
      'http.request.method': 'GET',
      'url.scheme': 'http',
      'server.address': '127.0.0.1',
      'server.port': 8080,
      'url.path': '/nothing',
      'http.route': '',
      'http.response.status_code': 404,
    },
    request: { path: null, url: 'http://127.0.0.1:8080/nothing', status_code: 404 },
  },
  {
    name: 'a function of AWS Lambda in Python',
    scope: 'opentelemetry.instrumentation.aws_lambda',
    span: 'my-function',
    values: {
      'cloud.account.id': '123456789012',
      'faas.trigger': 'http',
      'http.method': 'GET',
      'http.user_agent': 'curl/8',
      'http.scheme': 'https',
      'net.host.name': 'abc.execute-api.eu-west-1.amazonaws.com',
      'http.route': '/users/{id}',
      'http.target': '/users/{id}?full=1',
      'http.status_code': 201,
    },
    request: {
      path: '/users/{id}',
      url: 'https://abc.execute-api.eu-west-1.amazonaws.com/users/{id}?full=1',
      status_code: 201,
    },
  },
  {
    name: 'Fiber, whose whole URL has no host and whose size may be unknown',
    scope: 'github.com/gofiber/contrib/v3/otel',
    span: 'POST /users/:id',
    values: {
      'http.request.method': 'POST',
      'url.scheme': 'http',
      'http.request.body.size': -1,
      'url.path': '/users/7',
      'url.query': 'full=1',
      'url.full': '/users/7?full=1',
      'server.address': 'api.example.com',
      'enduser.id': 'ada',
      'client.address': '8.8.8.8',
      'http.response.status_code': 200,
      'http.route': '/users/:id',
      'http.response.body.size': 2,
    },
    request: {
      method: 'POST',
      path: '/users/{id}',
      url: 'http://api.example.com/users/7?full=1',
      consumer: 'ada',
      client_ip: '8.8.8.8',
      request_size_bytes: 0,
      response_size_bytes: 2,
    },
  },
  {
    name: 'a URL without a host, whose query no other attribute has',
    scope: 'test',
    span: 'GET',
    values: {
      'http.request.method': 'GET',
      'url.path': '/users/7',
      'url.full': '/users/7?full=1',
      'server.address': 'api.example.com',
      'http.response.status_code': 200,
    },
    request: { path: null, url: 'http://api.example.com/users/7?full=1' },
  },
  {
    name: "Go's net/http at an IPv6 address",
    scope: 'test',
    span: 'GET',
    values: {
      'http.request.method': 'GET',
      'server.address': '::1',
      'server.port': 8080,
      'url.scheme': 'http',
      'url.path': '/users/7',
      'http.response.status_code': 200,
    },
    request: { path: null, url: 'http://[::1]:8080/users/7' },
  },
  {
    name: 'Axum with tracing, which has an empty scheme and a port in the address of the client',
    scope: 'axum',
    span: 'GET /users/{id}',
    values: {
      'http.request.method': 'GET',
      'http.route': '/users/{id}',
      'server.address': 'localhost:3003',
      'user_agent.original': '',
      'url.path': '/users/7',
      'url.scheme': '',
      'client.address': '127.0.0.1:54321',
      'http.response.status_code': 200,
    },
    request: { path: '/users/{id}', url: 'http://localhost:3003/users/7', client_ip: '127.0.0.1' },
  },
  {
    name: 'Traefik',
    scope: 'github.com/traefik/traefik',
    span: 'GET',
    values: {
      entry_point: 'web',
      'http.request.method': 'GET',
      'network.protocol.version': '1.1',
      'http.request.body.size': 0,
      'url.path': '/users/7',
      'url.query': 'page=REDACTED',
      'url.scheme': 'https',
      'user_agent.original': 'curl/8',
      'server.address': 'api.example.com',
      'network.peer.address': '10.0.0.1',
      'client.address': '10.0.0.1',
      'client.port': 54321,
      'http.request.header.x-tenant': ['acme'],
      'http.response.status_code': 502,
    },
    isError: true,
    request: {
      path: null,
      url: 'https://api.example.com/users/7?page=REDACTED',
      status_code: 502,
      request_headers: [['x-tenant', 'acme']],
    },
  },
  {
    name: 'nginx',
    scope: 'nginx',
    span: '/users/',
    values: {
      'http.method': 'GET',
      'http.target': '/users/7?full=1',
      'http.route': '/users/',
      'http.scheme': 'https',
      'http.user_agent': 'curl/8',
      'http.request_content_length': 0,
      'http.response_content_length': 20,
      'http.status_code': 200,
      'net.host.name': 'api.example.com',
      'net.host.port': 8443,
      'net.sock.peer.addr': '8.8.8.8',
      'net.sock.peer.port': 54321,
    },
    request: {
      path: '/users/',
      url: 'https://api.example.com:8443/users/7?full=1',
      client_ip: '8.8.8.8',
      request_size_bytes: 0,
      response_size_bytes: 20,
    },
  },
  {
    name: 'Envoy and Istio, where every value is a text',
    scope: 'envoy',
    span: 'ingress',
    values: {
      component: 'proxy',
      'http.url': 'http://api.example.com/users/7?full=1',
      'http.method': 'GET',
      'http.protocol': 'HTTP/1.1',
      request_size: '0',
      response_size: '20',
      'peer.address': '10.0.0.1',
      'http.status_code': '200',
    },
    request: { path: null, url: 'http://api.example.com/users/7?full=1', status_code: 200, ...UNKNOWN_SIZES },
  },
  {
    name: 'Kong',
    scope: 'kong-internal',
    span: 'kong',
    values: {
      'http.method': 'GET',
      'http.url': 'http://api.example.com/users/7',
      'http.host': 'api.example.com',
      'http.scheme': 'http',
      'http.client_ip': '8.8.8.8',
      'net.peer.ip': '10.0.0.1',
      'http.status_code': 404,
      'http.route': '',
    },
    request: { path: null, url: 'http://api.example.com/users/7', status_code: 404, client_ip: '8.8.8.8' },
  },
  {
    name: 'Kong, where a regular expression matched',
    scope: 'kong-internal',
    span: 'kong',
    values: {
      'http.method': 'GET',
      'http.url': 'http://api.example.com/users/7',
      'http.status_code': 200,
      'http.route': '~/users/(?<id>\\d+)$',
    },
    request: { path: '/users/{id}', url: 'http://api.example.com/users/7', status_code: 200 },
  },
  {
    name: 'a Cloudflare Worker, whose scheme has a colon',
    scope: '@microlabs/otel-cf-workers',
    span: 'GET /users/:id',
    values: {
      'http.request.method': 'GET',
      'http.request.body.size': '17',
      'url.full': 'https://api.example.com/users/7?full=1',
      'server.address': 'api.example.com',
      'url.scheme': 'https:',
      'url.path': '/users/7',
      'url.query': '?full=1',
      'http.response.status_code': 200,
      'http.response.body.size': '20',
    },
    request: {
      path: null,
      url: 'https://api.example.com/users/7?full=1',
      request_size_bytes: 17,
      response_size_bytes: 20,
    },
  },
  {
    name: 'Phoenix on Cowboy, whose process crashed',
    scope: 'opentelemetry_phoenix',
    span: 'GET /users/:id',
    values: {
      'client.address': '10.0.0.1',
      'http.request.method': 'GET',
      'network.peer.address': '10.0.0.1',
      'url.path': '/users/7',
      'url.scheme': 'http',
      'server.address': 'localhost',
      'server.port': 4000,
      'http.route': '/users/:id',
    },
    isError: true,
    request: { path: '/users/{id}', url: 'http://localhost:4000/users/7', status_code: 500 },
  },
  {
    name: 'Next.js',
    scope: 'next.js',
    framework: 'nextjs',
    span: 'GET /users/[id]',
    values: {
      'next.span_type': 'BaseServer.handleRequest',
      'http.method': 'GET',
      'http.target': '/users/7?full=1',
      'http.status_code': 200,
      'http.route': '/users/[id]',
    },
    request: { path: '/users/{id}', url: '/users/7?full=1', status_code: 200 },
  },
  {
    name: "Spring Boot with Spring's OpenTelemetry convention, where nothing matched",
    scope: 'org.springframework.boot',
    framework: 'spring',
    span: 'GET',
    values: {
      exception: 'none',
      'http.request.method': 'GET',
      'http.request.method_original': 'GET',
      'http.response.status_code': '404',
      'http.route': 'NOT_FOUND',
      outcome: 'CLIENT_ERROR',
      'url.path': '/nothing',
      'url.scheme': 'http',
    },
    request: { path: null, url: '/nothing', status_code: 404 },
  },
  {
    name: 'a gRPC service of ASP.NET Core',
    scope: 'Microsoft.AspNetCore',
    framework: 'aspnetcore',
    span: 'greet.Greeter/SayHello',
    values: {
      'http.request.method': 'POST',
      'http.route': '/greet.Greeter/SayHello',
      'http.response.status_code': 200,
      'rpc.system': 'grpc',
      'rpc.service': 'greet.Greeter',
      'rpc.method': 'SayHello',
      'rpc.grpc.status_code': 13,
    },
    request: { method: 'POST', path: '/greet.Greeter/SayHello', status_code: 200 },
  },
];

describe('a request as its sender describes it', () => {
  it.each(SENDERS)('$name', async (described) => {
    const { scope, version, span: name, values, isError = false, framework = 'express', request } = described;
    const code = isError ? Status_StatusCode.ERROR : Status_StatusCode.UNSET;
    const span = serverSpan({}, { name, attributes: attributes(values), status: { code } });
    await sender.deliver('traces', traces([span], { scope, ...(version !== undefined && { version }) }));
    const [logged] = (await client.tenant.logs()).data;
    const { body } = await client.tenant.get(`request-logs/${logged!.request_uuid}`);
    expect(body).toMatchObject({ response_time_ms: 13, ...request });
    const [row] = await client.tenant.metrics({
      since: '2025-01-01',
      group_by: ['method', 'path', 'status_code'],
      metrics: ['requests', 'response_time_p50'],
    });
    // Counts without a route have no method.
    const { method, path, status_code } = body;
    expect(row).toMatchObject({ requests: 1, method: path === null ? null : method, path, status_code });
    expect(Math.abs(Number(row!.response_time_p50) - 12.5)).toBeLessThan(1);
    const apps = await service.api.get('/v1/apps', client.tenant.key);
    expect(apps.body.data[0].framework).toBe(framework);
  });
});

describe('spans that are no requests, or requests that are not logged', () => {
  const requests = async () =>
    (await client.tenant.metrics({ since: '2025-01-01', metrics: ['requests'] }))[0]?.requests ?? 0;

  it.each([
    ['a call of gRPC', Span_SpanKind.SERVER, { 'rpc.system': 'grpc', 'rpc.grpc.status_code': 0 }],
    ['a command of Laravel', Span_SpanKind.SERVER, { 'code.function.name': 'Kernel::handle' }],
    ['an event of LiveView', Span_SpanKind.SERVER, { 'phoenix.view': 'Elixir.Live' }],
    ["Traefik's router", Span_SpanKind.INTERNAL, { 'http.route': 'Host(`a.example.com`)' }],
    ['a GraphQL operation', Span_SpanKind.INTERNAL, { 'graphql.operation.type': 'query' }],
    [
      'a message of a queue with the method of its sender',
      Span_SpanKind.CONSUMER,
      { 'messaging.system': 'aws_sqs', 'http.request.method': 'POST' },
    ],
  ])('does not take %s as a request', async (_, kind, values) => {
    await sender.deliver('traces', traces([serverSpan({}, { kind, attributes: attributes(values) })]));
    expect((await client.tenant.logs()).data).toEqual([]);
    expect(await requests()).toBe(0);
  });

  it.each([
    ['Django', 'healthz'],
    ['Django', '^ping$'],
    ['ASP.NET Core', 'api/health'],
  ])('counts a health check whose route in %s is %s, and does not log it', async (_, route) => {
    await sender.deliver('traces', traces([serverSpan({ 'http.route': route })]));
    expect((await client.tenant.logs()).data).toEqual([]);
    expect(await requests()).toBe(1);
  });
});

const { CUMULATIVE } = AggregationTemporality;

/** A cumulative point of `http.server.request.duration`. */
function duration(values: Values, unit = 's', bounds = [0.01, 0.1, 1], counts = [0n, 3n, 0n, 0n]) {
  const point = {
    startTimeUnixNano: nanosecondsAgo(60_000),
    timeUnixNano: nanosecondsAgo(0),
    attributes: attributes(values),
    explicitBounds: bounds,
    bucketCounts: counts,
    count: counts.reduce((sum, n) => sum + n, 0n),
    sum: 0.1,
  };
  return {
    name: 'http.server.request.duration',
    unit,
    data: { case: 'histogram' as const, value: { aggregationTemporality: CUMULATIVE, dataPoints: [point] } },
  };
}

describe('metrics as their senders make them', () => {
  const counted = () =>
    client.tenant.metrics({
      since: '2025-01-01',
      group_by: ['method', 'path', 'status_code'],
      metrics: ['requests', 'response_time_p50'],
    });

  it('counts those of Micrometer, with the unit in words, statuses as texts and words for no route', async () => {
    const of = { 'http.request.method': 'GET', exception: 'none', outcome: 'SUCCESS', 'url.scheme': 'http' };
    const list = [
      duration(
        { ...of, 'http.response.status_code': '200', 'http.route': '/users/{id}' },
        'milliseconds',
        [10, 100, 1_000],
      ),
      duration(
        { ...of, 'http.response.status_code': '404', 'http.route': 'NOT_FOUND' },
        'milliseconds',
        [],
        [2n],
      ),
    ];
    await sender.deliver('metrics', metrics(list, { scope: '' }));
    const rows = await counted();
    expect(rows).toMatchObject([
      { method: 'GET', path: '/users/{id}', status_code: 200, requests: 3 },
      { method: null, path: null, status_code: 404, requests: 2, response_time_p50: null },
    ]);
    expect(rows[0]!.response_time_p50).toBeCloseTo(Math.sqrt(10 * 100), -1);
  });

  it("counts a process of Java once whose metrics are Micrometer's and whose spans are those of the SDK", async () => {
    const sdk = (name: string, version: string) => ({
      attributes: attributes({
        'service.name': 'shop',
        'telemetry.sdk.language': 'java',
        'telemetry.sdk.name': name,
        'telemetry.sdk.version': version,
      }),
    });
    const list = [
      duration({
        'http.request.method': 'GET',
        'http.route': '/users/{id}',
        'http.response.status_code': '200',
      }),
    ];
    await sender.deliver('metrics', metrics(list, { of: sdk('io.micrometer', '1.17.0') }));
    await sender.deliver('traces', traces([serverSpan()], { of: sdk('opentelemetry', '1.60.0') }));
    expect(await counted()).toMatchObject([{ requests: 3 }]);
  });

  it('counts those of the conventions before, in milliseconds, with the route of Python as their target', async () => {
    const older = (values: object, scope: string) =>
      metrics(
        [
          {
            ...duration({ 'http.method': 'GET', 'http.status_code': 200, ...values }, 'ms', [10, 100, 1_000]),
            name: 'http.server.duration',
          },
        ],
        { scope, of: resource({ 'service.instance.id': scope }) },
      );
    await sender.deliver(
      'metrics',
      older({ 'http.target': '/users/{id}' }, 'opentelemetry.instrumentation.fastapi'),
    );
    await sender.deliver(
      'metrics',
      older({ 'http.route': '/users/:id', 'http.target': '/users/7' }, '@opentelemetry/instrumentation-http'),
    );
    await sender.deliver('metrics', older({ 'http.target': '/users/8' }, 'go.example/otelhttp'));
    const rows = await counted();
    expect(rows).toMatchObject([
      { method: 'GET', path: '/users/{id}', status_code: 200, requests: 6 },
      { path: null, status_code: 200, requests: 3 },
    ]);
    expect(rows[0]!.response_time_p50).toBeCloseTo(Math.sqrt(10 * 100), -1);
  });

  it('counts a failure without a status as a 500, as its span', async () => {
    const values = { 'http.request.method': 'GET', 'http.route': '/boom', 'error.type': 'TypeError' };
    await sender.deliver('metrics', metrics([duration(values)]));
    expect(await counted()).toMatchObject([{ path: '/boom', status_code: 500, requests: 3 }]);
  });

  it('has the same endpoint for the route of a metric and of a span', async () => {
    const values = { 'http.request.method': 'GET', 'http.response.status_code': 200 };
    const route = { 'http.route': 'api/users/{id:int}' };
    await sender.deliver('traces', traces([serverSpan({ ...values, ...route })], { of: resource({ a: 1 }) }));
    const of = resource({ 'service.instance.id': 'two' });
    await sender.deliver('metrics', metrics([duration({ ...values, ...route })], { of }));
    expect(await counted()).toMatchObject([{ path: '/api/users/{id}', requests: 4 }]);
    expect((await client.tenant.logs({ path: '/api/*' })).data).toHaveLength(1);
  });

  it('does not count the metrics that a Collector makes of spans, nor those of Spring', async () => {
    const names = ['http.server.requests', 'traces.span.metrics.duration'];
    const list = names.map((name) => ({ ...duration({ 'http.method': 'GET' }, 'ms'), name }));
    const { status, bytes } = await sender.send('metrics', metrics(list));
    expect([status, readResponse('metrics', bytes).partialSuccess]).toEqual([200, undefined]);
    await sender.deliver('traces', traces([serverSpan()]));
    expect(await counted()).toMatchObject([{ requests: 1 }]);
  });
});

describe('several spans of one request', () => {
  it('counts the SERVER spans of a proxy and of the application behind it as a request each, in their own apps', async () => {
    const behind = await service.tenant();
    const traceId = randomBytes(16);
    const proxy = serverSpan({}, { traceId });
    const application = serverSpan({}, { traceId, parentSpanId: proxy.spanId! });
    await sender.deliver('traces', traces([proxy]));
    await (await OtlpSender.create(service, behind)).deliver('traces', traces([application]));
    expect((await client.tenant.logs()).data).toHaveLength(1);
    expect((await behind.tenant.logs()).data).toHaveLength(1);
    await sender.deliver('traces', traces([application]));
    expect((await client.tenant.logs()).data).toHaveLength(2);
  });

  it('keeps a connection of hours, and a span of a clock that runs ahead', async () => {
    const hours = 5 * 3_600_000;
    const start = nanosecondsAgo(hours);
    const socket = serverSpan(
      { 'http.response.status_code': 101 },
      { startTimeUnixNano: start, endTimeUnixNano: start + BigInt(hours) * 1_000_000n },
    );
    const ahead = nanosecondsAgo(-2 * 3_600_000);
    const later = serverSpan({}, { startTimeUnixNano: ahead, endTimeUnixNano: ahead + 1_000_000n });
    await sender.deliver('traces', traces([socket, later]));
    const end = new Date(Date.now() + 86_400_000).toISOString();
    expect((await client.tenant.logs({ end })).data).toMatchObject([
      { status_code: 200 },
      { status_code: 101, response_time_ms: hours },
    ]);
  });
});
