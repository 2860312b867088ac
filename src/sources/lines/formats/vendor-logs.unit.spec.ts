import type { ParseOptions } from './parsed-request.js';
import { LineParser, REQUEST_FORMATS } from './request-format.js';

/**
 * A line of each kind that a format has, after the documentation of its vendor, with the values of its
 * request.
 */
interface Sample {
  readonly line: string;
  readonly request: Readonly<Record<string, unknown>>;
  /** Members of the details. */
  readonly details?: Readonly<Record<string, unknown>>;
}

const JSON_LINE = (line: object) => JSON.stringify(line);
const UA = 'Mozilla/5.0 (X11; Linux x86_64)';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const at = (time: string) => Date.parse(`2026-11-20T${time}Z`);

const SAMPLES: Readonly<Record<string, readonly Sample[]>> = {
  ndjson: [
    {
      line: JSON_LINE({ timestamp: '2026-11-20T08:15:02Z', method: 'GET', url: '/a', status_code: 200 }),
      request: { timestamp: at('08:15:02'), url: '/a' },
    },
  ],
  combined: [
    {
      line: `203.0.113.7 - anna [20/Nov/2026:09:15:02 +0100] "GET /orders/42?full=1 HTTP/1.1" 200 512 "https://shop.example.com/" "${UA}" 0.215`,
      request: {
        timestamp: at('08:15:02'),
        url: '/orders/42?full=1',
        client_ip: '203.0.113.7',
        response_size_bytes: 512,
        response_time_ms: 215,
      },
    },
    {
      // gunicorn, and the console's CLF of Amazon API Gateway.
      line: '203.0.113.7 - - [20/Nov/2026:08:15:02 +0000] "GET /pets/{id} HTTP/1.1" 200 41 c9a2f1e0-1111',
      request: {
        url: '/pets/{id}',
        client_ip: '203.0.113.7',
        response_size_bytes: 41,
        response_time_ms: null,
      },
    },
    {
      // Kong.
      line: `203.0.113.7 - - [20/Nov/2026:08:15:02 +0000] "GET /a HTTP/1.1" 404 52 "-" "${UA}" kong_request_id: "29d3c53e12a5c75d60ef4967de3a6c13"`,
      request: { status_code: 404, client_ip: '203.0.113.7' },
    },
    {
      // Werkzeug.
      line: '203.0.113.7 - - [20/Nov/2026 08:15:02] "POST /a HTTP/1.1" 302 -',
      request: { timestamp: at('08:15:02'), method: 'POST', status_code: 302 },
    },
  ],
  haproxy: [
    {
      line: '203.0.113.7:33317 [20/Nov/2026:08:15:02.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1"',
      request: {
        timestamp: at('08:15:02.655'),
        url: '/index.html',
        response_time_ms: 109,
        response_size_bytes: 2_750,
        client_ip: '203.0.113.7',
      },
    },
    {
      // `option logasap`, an IPv6 client, and no server.
      line: '2001:db8::7:8080 [20/Nov/2026:08:15:02.655] http-in~ http-in/<NOSRV> -1/-1/-1/-1/+9 503 +217 - - SC-- 0/0/0/0/0 0/0 "GET / HTTP/1.1"',
      request: { status_code: 503, client_ip: '2001:db8::7', response_time_ms: 9, response_size_bytes: 217 },
    },
    {
      // `option httpslog`, and a client that left before a server was asked.
      line: '203.0.113.7:33317 [20/Nov/2026:08:15:02.655] https-in~ app/<NOSRV> 5000/-1/-1/-1/-1 408 212 - - cR-- 1/1/0/0/0 0/0 "GET /slow HTTP/2.0" 0/0000000000000000/0/0/0 shop.example.com/TLSv1.3/TLS_AES_256_GCM_SHA384',
      request: { url: '/slow', status_code: 408, response_time_ms: null },
    },
  ],
  envoy: [
    {
      line: `[2026-11-20T08:15:02.417Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "203.0.113.7" "a \\" b" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "shop.example.com" "tcp://10.0.2.1:80"`,
      request: {
        timestamp: at('08:15:02.417'),
        method: 'POST',
        url: 'http://shop.example.com/api/v1/locations',
        request_size_bytes: 154,
        response_size_bytes: 0,
        response_time_ms: 226,
        client_ip: '203.0.113.7',
      },
    },
    {
      line: `[2026-11-20T08:15:02.417Z] "GET /status/418 HTTP/1.1" 418 UH via_upstream - "-" 0 135 4 4 "-" "${UA}" "84961386-6d84-929d-98bd-c5aee93b5c88" "httpbin:8000" "127.0.0.1:80" inbound|8000|| 127.0.0.1:41854 10.44.1.27:80 10.44.1.23:37652 outbound_.8000_._.httpbin.foo.svc.cluster.local default`,
      request: { url: 'http://httpbin:8000/status/418', client_ip: '10.44.1.23', response_time_ms: 4 },
    },
  ],
  alb: [
    {
      line: `https 2026-11-20T08:15:02.632100Z app/shop/50dc6c495c0c9188 203.0.113.7:2817 10.0.0.1:80 0.001 0.214 0.000 200 200 318 1388 "GET https://shop.example.com:443/orders/42?full=1 HTTP/1.1" "${UA}" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:1:targetgroup/t/7 "Root=1-58337364-23a8c76965a2ef7629b185e3" "shop.example.com" "arn:aws:acm:us-east-2:1:certificate/1" 0 2026-11-20T08:15:02.417000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`,
      request: {
        timestamp: at('08:15:02.417'),
        url: 'https://shop.example.com/orders/42?full=1',
        response_time_ms: 215,
      },
      details: { trace_id: '5833736423a8c76965a2ef7629b185e3' },
    },
    {
      line: `2026-11-20T08:15:02.417000Z my-loadbalancer 203.0.113.7:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 0 29 "GET http://shop.example.com:80/ HTTP/1.1" "${UA}" - -`,
      request: { timestamp: at('08:15:02.417'), url: 'http://shop.example.com/', response_size_bytes: 29 },
    },
  ],
  s3: [
    {
      line: `79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be amzn-s3-demo-bucket1 [20/Nov/2026:08:15:02 +0000] 203.0.113.7 79a59df900b949e5 3E57427F3EXAMPLE REST.GET.VERSIONING - "GET /amzn-s3-demo-bucket1?versioning HTTP/1.1" 200 - 113 - 7 - "-" "S3Console/0.4" - s9lzHYrFp76ZVxRcpX9+5cjAnEH2ROuNkd2BHfIa6UkFVdtjf5mKR3/eTPFvsiP/XV/VLi31234= SigV4 ECDHE-RSA-AES128-GCM-SHA256 AuthHeader amzn-s3-demo-bucket1.s3.us-west-1.amazonaws.com TLSV1.2 arn:aws:s3:us-west-1:123456789012:accesspoint/example-AP Yes`,
      request: {
        timestamp: at('08:15:02'),
        url: 'https://amzn-s3-demo-bucket1.s3.us-west-1.amazonaws.com/amzn-s3-demo-bucket1?versioning',
        response_size_bytes: 113,
        response_time_ms: 7,
        client_ip: '203.0.113.7',
      },
      details: { request_headers: expect.arrayContaining([['user-agent', 'S3Console/0.4']]) },
    },
  ],
  cloudfront: [
    {
      line: '2026-11-20\t08:15:02\tSOF50-C1\t1388\t203.0.113.7\tGET\td111111abcdef8.cloudfront.net\t/view/my/file.html\t200\twww.displaymyfiles.com\tMozilla/4.0%20(compatible;%20MSIE%205.0b1;%20Mac_PowerPC)\ta=b\tzip=98101\tRefreshHit\tMRVMF7KydIvxMWfJIglgwHQwZsbG2IhRJ07sn9AkKUFSHS9EXAMPLE==\td111111abcdef8.cloudfront.net\thttp\t318\t0.215',
      request: {
        timestamp: at('08:15:02'),
        url: 'http://d111111abcdef8.cloudfront.net/view/my/file.html?a=b',
        response_time_ms: 215,
        request_size_bytes: 318,
      },
      details: {
        request_headers: expect.arrayContaining([
          ['user-agent', 'Mozilla/4.0 (compatible; MSIE 5.0b1; Mac_PowerPC)'],
        ]),
      },
    },
    {
      line: JSON_LINE({
        date: '2026-11-20',
        time: '08:15:02',
        'x-edge-location': 'SOF50-C1',
        'timestamp(ms)': '1795162502417',
        'sc-bytes': '1388',
        'c-ip': '203.0.113.7',
        'cs-method': 'GET',
        'cs(Host)': 'd111111abcdef8.cloudfront.net',
        'cs-uri-stem': '/view',
        'cs-uri-query': 'a=b',
        'sc-status': '200',
        'cs(User-Agent)': 'curl/8.5.0',
        'x-host-header': 'shop.example.com',
        'cs-protocol': 'https',
        'cs-bytes': '318',
        'time-taken': '0.215',
      }),
      request: {
        timestamp: at('08:15:02.417'),
        url: 'https://shop.example.com/view?a=b',
        response_time_ms: 215,
      },
    },
  ],
  apigateway: [
    {
      line: JSON_LINE({
        requestId: 'c6af9ac6-7b61-11e6-9a41-93e8deadbeef',
        ip: '203.0.113.7',
        caller: '-',
        user: '-',
        requestTime: '20/Nov/2026:08:15:02 +0000',
        requestTimeEpoch: 1795162502417,
        httpMethod: 'GET',
        resourcePath: '/pets/{petId}',
        path: '/prod/pets/7',
        domainName: 'api.example.com',
        status: '200',
        protocol: 'HTTP/1.1',
        responseLength: '1024',
        responseLatency: '215',
        xrayTraceId: '1-5759e988-bd862e3fe1be46a994272793',
        userAgent: UA,
      }),
      request: {
        timestamp: at('08:15:02.417'),
        path: '/pets/{petId}',
        is_path_inferred: false,
        url: 'https://api.example.com/prod/pets/7',
        response_time_ms: 215,
        response_size_bytes: 1_024,
      },
      details: { trace_id: '5759e988bd862e3fe1be46a994272793', request_headers: [['user-agent', UA]] },
    },
    {
      // An HTTP API.
      line: JSON_LINE({
        requestId: 'JKJaXmPLvHcESHA=',
        ip: '203.0.113.7',
        requestTime: '20/Nov/2026:08:15:02 +0000',
        httpMethod: 'POST',
        routeKey: '$default',
        path: '/orders/7',
        status: '503',
        protocol: 'HTTP/1.1',
        responseLength: '33',
      }),
      request: { path: '/orders/{id}', is_path_inferred: true, url: '/orders/7', status_code: 503 },
    },
  ],
  cloudflare: [
    {
      line: JSON_LINE({
        ClientIP: '203.0.113.7',
        ClientRequestHost: 'shop.example.com',
        ClientRequestMethod: 'GET',
        ClientRequestURI: '/orders/42?full=1',
        ClientRequestScheme: 'https',
        ClientRequestBytes: 318,
        ClientRequestUserAgent: UA,
        EdgeStartTimestamp: 1795162502417000000,
        EdgeEndTimestamp: 1795162502632000000,
        EdgeResponseBytes: 1_388,
        EdgeResponseStatus: 200,
        RayID: '3a6050bcbe121a87',
      }),
      request: {
        timestamp: at('08:15:02.417'),
        url: 'https://shop.example.com/orders/42?full=1',
        response_time_ms: 215,
        request_size_bytes: 318,
        response_size_bytes: 1_388,
      },
    },
  ],
  gcp: [
    {
      line: JSON_LINE({
        insertId: '1a2b3c',
        jsonPayload: { statusDetails: 'response_sent_by_backend' },
        httpRequest: {
          requestMethod: 'GET',
          requestUrl: 'https://shop.example.com/orders/42?full=1',
          requestSize: '318',
          status: 200,
          responseSize: '1388',
          userAgent: UA,
          remoteIp: '203.0.113.7:54321',
          latency: '0.215s',
        },
        resource: { type: 'http_load_balancer' },
        timestamp: '2026-11-20T08:15:02.417417Z',
        trace: `projects/my-project/traces/${TRACE}`,
      }),
      request: {
        timestamp: at('08:15:02.417'),
        url: 'https://shop.example.com/orders/42?full=1',
        response_time_ms: 215,
        client_ip: '203.0.113.7',
        request_size_bytes: 318,
      },
      details: { trace_id: TRACE },
    },
  ],
  azure: [
    {
      // Version 2 of the gateway.
      line: JSON_LINE({
        timeStamp: '2026-11-20T08:15:02+00:00',
        category: 'ApplicationGatewayAccessLog',
        properties: {
          clientIP: '203.0.113.7',
          clientPort: 51_022,
          httpMethod: 'GET',
          originalRequestUriWithArgs: '/orders/42?full=1',
          requestUri: '/rewritten',
          userAgent: UA,
          httpStatus: 200,
          receivedBytes: 318,
          sentBytes: 1_388,
          timeTaken: 0.215,
          sslEnabled: 'on',
          host: '10.0.0.4',
          originalHost: 'shop.example.com',
        },
      }),
      request: {
        timestamp: at('08:15:02'),
        url: 'https://shop.example.com/orders/42?full=1',
        response_time_ms: 215,
        request_size_bytes: 318,
      },
    },
    {
      // Version 1: milliseconds, and names of its own in the query.
      line: JSON_LINE({
        time: '2026-11-20T08:15:02Z',
        category: 'ApplicationGatewayAccessLog',
        properties: {
          clientIP: '203.0.113.7',
          httpMethod: 'GET',
          requestUri: '/orders',
          requestQuery: 'X-AzureApplicationGateway-CACHE-HIT=0&SERVER-STATUS=200',
          httpStatus: 200,
          timeTaken: 240,
          sslEnabled: 'off',
          host: 'shop.example.com',
        },
      }),
      request: { url: 'http://shop.example.com/orders', response_time_ms: 240 },
    },
    {
      line: JSON_LINE({
        time: '2026-11-20T08:15:02.417Z',
        category: 'FrontDoorAccessLog',
        properties: {
          trackingReference: '0VkaMZQ',
          httpMethod: 'GET',
          requestUri: 'https://shop.example.com:443/orders/42?full=1',
          requestBytes: '318',
          responseBytes: '1388',
          userAgent: UA,
          clientIp: '203.0.113.7',
          timeTaken: '0.215',
          requestProtocol: 'HTTPS',
          httpStatusCode: '200',
        },
      }),
      request: {
        timestamp: at('08:15:02.417'),
        url: 'https://shop.example.com/orders/42?full=1',
        response_time_ms: 215,
        response_size_bytes: 1_388,
      },
    },
  ],
  fastly: [
    {
      line: JSON_LINE({
        timestamp: '2026-11-20T08:15:02+0000',
        client_ip: '203.0.113.7',
        host: 'shop.example.com',
        url: '/orders/42?full=1',
        request_method: 'GET',
        request_protocol: 'HTTP/1.1',
        request_referer: '',
        request_user_agent: UA,
        response_status: 200,
        response_reason: 'OK',
        response_body_size: 1_024,
        fastly_server: 'cache-fra19131',
        fastly_is_edge: true,
      }),
      request: {
        timestamp: at('08:15:02'),
        url: 'http://shop.example.com/orders/42?full=1',
        response_size_bytes: 1_024,
      },
      details: { request_headers: [['user-agent', UA]] },
    },
  ],
  kong: [
    {
      line: JSON_LINE({
        request: {
          method: 'GET',
          uri: '/orders/42?full=1',
          url: 'https://shop.example.com:443/orders/42?full=1',
          size: 318,
          headers: {
            host: 'shop.example.com',
            'user-agent': UA,
            traceparent: `00-${TRACE}-00f067aa0ba902b7-01`,
          },
        },
        response: { status: 200, size: '1388', headers: { 'content-type': 'text/html' } },
        latencies: { request: 215, kong: 9, proxy: 206 },
        started_at: 1795162502417,
        client_ip: '203.0.113.7',
        consumer: { username: 'anna' },
      }),
      request: {
        timestamp: at('08:15:02.417'),
        url: 'https://shop.example.com/orders/42?full=1',
        response_time_ms: 215,
        response_size_bytes: 1_388,
        consumer: { identifier: 'anna' },
      },
      details: { trace_id: TRACE, response_headers: [['content-type', 'text/html']] },
    },
  ],
  'nginx-proxy-manager': [
    {
      line: `[20/Nov/2026:08:15:02 +0000] HIT 502, 200 200 - GET https shop.example.com "/orders/42" [Client 203.0.113.7] [Length 1388] [Gzip 2.45] [Sent-to 10.0.0.15] "${UA}" "-"`,
      request: {
        timestamp: at('08:15:02'),
        url: 'https://shop.example.com/orders/42',
        response_size_bytes: 1_388,
        client_ip: '203.0.113.7',
      },
    },
    {
      line: `[20/Nov/2026:08:15:02 +0000] 404 - GET http shop.example.com "/a" [Client 203.0.113.7] [Length 0] [Gzip -] "${UA}" "-"`,
      request: { status_code: 404, url: 'http://shop.example.com/a' },
    },
  ],
  heroku: [
    {
      line: '2026-11-20T08:15:02.417000+00:00 heroku[router]: at=info method=GET path="/orders/42?full=1" host=shop.example.com request_id=8601b555-6a83-4c12-8269-97c8e32cdb22 fwd="203.0.113.7" dyno=web.1 connect=1ms service=215ms status=200 bytes=1388 protocol=https',
      request: {
        timestamp: at('08:15:02.417'),
        url: 'https://shop.example.com/orders/42?full=1',
        response_time_ms: 215,
        response_size_bytes: 1_388,
        client_ip: '203.0.113.7',
      },
    },
    {
      // A log drain, with an error.
      line: '<158>1 2026-11-20T08:15:02.417000+00:00 host heroku router - at=error code=H12 desc="Request timeout" method=GET path="/slow" host=shop.example.com fwd="8.8.8.8, 203.0.113.7" dyno=web.1 connect=0ms service=30000ms status=503 bytes=0',
      request: {
        url: 'http://shop.example.com/slow',
        status_code: 503,
        response_time_ms: 30_000,
        client_ip: '8.8.8.8',
      },
    },
  ],
  squid: [
    {
      line: '1795162502.632    215 203.0.113.7 TCP_MISS/200 1388 GET http://shop.example.com/orders/42?full=1 anna HIER_DIRECT/93.184.216.34 text/html',
      request: {
        timestamp: at('08:15:02.632'),
        url: 'http://shop.example.com/orders/42?full=1',
        response_time_ms: 215,
        response_size_bytes: 1_388,
        consumer: { identifier: 'anna' },
      },
    },
    {
      line: '1795162502.632  60113 203.0.113.7 TCP_TUNNEL/200 5812 CONNECT shop.example.com:443 - HIER_DIRECT/93.184.216.34 -',
      request: { method: 'CONNECT', url: 'shop.example.com:443' },
    },
  ],
  ecs: [
    {
      line: JSON_LINE({
        '@timestamp': '2026-11-20T08:15:02.417Z',
        ecs: { version: '8.11.0' },
        message: 'GET /orders/42',
        event: { duration: 215_400_000 },
        http: {
          request: { method: 'GET', body: { bytes: 318 }, referrer: 'https://shop.example.com/' },
          response: { status_code: 200, body: { bytes: 1_388 } },
        },
        url: { path: '/orders/42', query: 'full=1', domain: 'shop.example.com', scheme: 'https' },
        client: { ip: '203.0.113.7' },
        user: { name: 'anna' },
        user_agent: { original: UA },
        trace: { id: TRACE },
      }),
      request: {
        timestamp: at('08:15:02.417'),
        url: 'https://shop.example.com/orders/42?full=1',
        response_time_ms: 215,
        request_size_bytes: 318,
        consumer: { identifier: 'anna' },
      },
      details: {
        trace_id: TRACE,
        request_headers: [
          ['user-agent', UA],
          ['referer', 'https://shop.example.com/'],
        ],
      },
    },
    {
      // Names with dots instead of objects.
      line: JSON_LINE({
        '@timestamp': '2026-11-20T08:15:02.417Z',
        'http.request.method': 'GET',
        'http.response.status_code': 404,
        'url.original': '/a',
        'source.ip': '203.0.113.7',
      }),
      request: { url: '/a', status_code: 404, client_ip: '203.0.113.7' },
    },
  ],
  pino: [
    {
      line: JSON_LINE({
        level: 30,
        time: 1795162502632,
        pid: 1,
        req: {
          id: 1,
          method: 'GET',
          url: '/orders/42?full=1',
          headers: {
            host: 'shop.example.com',
            'user-agent': UA,
            'x-forwarded-for': '8.8.8.8',
            'x-forwarded-proto': 'https',
          },
          remoteAddress: '::ffff:10.0.0.1',
        },
        res: { statusCode: 200, headers: { 'content-length': '1388' } },
        responseTime: 215,
        msg: 'request completed',
      }),
      request: {
        timestamp: at('08:15:02.632'),
        url: 'https://shop.example.com/orders/42?full=1',
        response_time_ms: 215,
        response_size_bytes: 1_388,
        client_ip: '8.8.8.8',
      },
    },
  ],
  gin: [
    {
      line: '[GIN] 2026/11/20 - 08:15:02 | 200 |  215.417ms |    203.0.113.7 | GET      "/orders/42?full=1"',
      request: {
        timestamp: at('08:15:02'),
        url: '/orders/42?full=1',
        response_time_ms: 215,
        client_ip: '203.0.113.7',
      },
    },
    {
      // In colours, and of older versions.
      line: '[GIN] 2026/11/20 - 08:15:02 |\u001b[97;42m 404 \u001b[0m|      13.7µs |             ::1 |\u001b[97;44m GET     \u001b[0m /a',
      request: { status_code: 404, url: '/a', response_time_ms: 0, client_ip: '::1' },
    },
  ],
  uvicorn: [
    {
      line: '2026-11-20 08:15:02,417 - uvicorn.access - INFO - 203.0.113.7:54321 - "GET /orders/42?full=1 HTTP/1.1" 200',
      request: { timestamp: at('08:15:02.417'), url: '/orders/42?full=1', client_ip: '203.0.113.7' },
    },
    {
      line: '2026-11-20T08:15:02.417Z stdout F \u001b[32mINFO\u001b[0m:     203.0.113.7:54321 - "\u001b[1mGET /a HTTP/1.1\u001b[0m" \u001b[32m200 OK\u001b[0m',
      request: { timestamp: at('08:15:02.417'), url: '/a', status_code: 200 },
    },
  ],
  morgan: [
    {
      line: '2026-11-20T08:15:02.417Z GET /orders/42?full=1 200 215.417 ms - 1388',
      request: {
        timestamp: at('08:15:02.417'),
        url: '/orders/42?full=1',
        response_time_ms: 215,
        response_size_bytes: 1_388,
      },
    },
    {
      line: '2026-11-20T08:15:02.417Z GET /a 304 - - 1.5 ms',
      request: { status_code: 304, response_time_ms: 2 },
    },
    {
      line: '2026-11-20T08:15:02.417Z 203.0.113.7 - GET /a HTTP/1.1 200 12 - 1.5 ms',
      request: { client_ip: '203.0.113.7', response_size_bytes: 12 },
    },
  ],
  aiohttp: [
    {
      line: `203.0.113.7 [20/Nov/2026:08:15:02 +0000] "GET /a HTTP/1.1" 200 173 "-" "${UA}"`,
      request: { timestamp: at('08:15:02'), client_ip: '203.0.113.7', response_size_bytes: 173 },
    },
  ],
  django: [
    {
      line: '[20/Nov/2026 08:15:02] "GET /admin/ HTTP/1.1" 200 4215',
      request: { timestamp: at('08:15:02'), url: '/admin/', response_size_bytes: 4_215 },
    },
  ],
  nginx: [
    {
      line: JSON_LINE({
        msec: 1795162502.417,
        remote_addr: '203.0.113.7',
        request: 'GET /a HTTP/1.1',
        status: 200,
      }),
      request: { timestamp: at('08:15:02.417'), url: '/a' },
    },
  ],
  json: [
    {
      // Apache, as its manual has it.
      line: JSON_LINE({
        time: '[20/Nov/2026:08:15:02 +0000]',
        remoteIP: '203.0.113.7',
        host: 'shop.example.com',
        request: '/orders/42',
        query: '?full=1',
        method: 'GET',
        status: '200',
        userAgent: UA,
        referer: '-',
      }),
      request: {
        timestamp: at('08:15:02'),
        url: 'http://shop.example.com/orders/42?full=1',
        client_ip: '203.0.113.7',
      },
      details: { request_headers: [['user-agent', UA]] },
    },
    {
      line: 'ts=2026-11-20T08:15:02.417Z level=info method=GET path="/a b" status=200 duration_ms=215',
      request: { timestamp: at('08:15:02.417'), url: '/a b', response_time_ms: 215 },
    },
  ],
  traefik: [
    {
      line: JSON_LINE({
        ClientHost: '8.8.8.8, 10.0.0.1',
        RequestMethod: 'GET',
        RequestPath: '/a',
        RequestAddr: 'shop.example.com',
        DownstreamStatus: 200,
        Duration: 215_400_000,
        StartUTC: '2026-11-20T08:15:02.417Z',
      }),
      request: { timestamp: at('08:15:02.417'), client_ip: '8.8.8.8', response_time_ms: 215 },
    },
  ],
  caddy: [
    {
      line: JSON_LINE({
        ts: 1795162502.417,
        logger: 'http.log.access',
        request: { client_ip: '203.0.113.7', method: 'GET', host: 'shop.example.com', uri: '/a' },
        duration: '215.4ms',
        size: 12,
        status: 200,
        resp_headers: {},
      }),
      request: { timestamp: at('08:15:02.417'), response_time_ms: 215, url: 'http://shop.example.com/a' },
    },
  ],
};

interface Read {
  format: string | undefined;
  request: object;
  details: object;
}

function readLine(line: string, format?: string, options: ParseOptions = { consumerFrom: 'user' }): Read {
  const parser = new LineParser(format, options);
  const result = parser.parse(line);
  if (result === null || 'reason' in result) throw new Error(`${result?.reason}: ${line}`);
  expect(result.ignored).toEqual([]);
  const { captured_json: captured, ...request } = result.record;
  return { format: parser.format, request, details: captured === '' ? {} : (JSON.parse(captured) as object) };
}

const ALL = Object.entries(SAMPLES).flatMap(([format, samples]) =>
  samples.map(({ line, request, details = {} }) => [format, line, request, details] as const),
);

describe('formats of vendors', () => {
  it('have a sample each', () => {
    // W3C has fixtures with its `#Fields` lines.
    expect(Object.keys(SAMPLES).sort()).toEqual(REQUEST_FORMATS.filter((name) => name !== 'w3c').sort());
  });

  it.each(ALL)('recognizes and reads %s: %s', (format, line, request, details) => {
    expect(readLine(line)).toMatchObject({ format, request, details });
    expect(readLine(line, format)).toEqual(readLine(line));
  });
});

const quote = (line: string) => JSON.stringify(line);
const LOGGED_AT = '2026-11-21T10:00:00.5Z';

/** What may be around a line. */
const ENVELOPES: Readonly<Record<string, (line: string) => string>> = {
  'syslog, RFC 3164': (line) => `Nov 21 10:00:00 web1 nginx[12]: ${line}`,
  'syslog, RFC 3164, a day of one digit': (line) => `Nov  6 10:00:00 web1 nginx: ${line}`,
  'syslog, RFC 3164, with a priority': (line) => `<190>Nov 21 10:00:00 web1 nginx: ${line}`,
  'syslog, RFC 3164, without a host': (line) => `<190>Nov 21 10:00:00 nginx: ${line}`,
  'syslog with the time of rsyslog': (line) => `2026-11-21T10:00:00.123456+01:00 web1 nginx[12]: ${line}`,
  'syslog of Fastly': (line) => `<134>2026-11-21T10:00:00Z cache-fra19131 shop[1234]: ${line}`,
  'syslog, RFC 5424': (line) => `<190>1 2026-11-21T10:00:00.5Z web1 nginx 12 - - ${line}`,
  'syslog, RFC 5424, with data': (line) =>
    `<190>1 2026-11-21T10:00:00.5Z web1 nginx - ID47 [a@32473 iut="3"][b@32473 c="d"] ${line}`,
  'syslog with its length': (line) =>
    `${line.length + 40} <190>1 2026-11-21T10:00:00.5Z web1 nginx - - - ${line}`,
  Kubernetes: (line) => `2026-11-21T10:00:00.123456789Z stdout F ${line}`,
  'docker logs -t': (line) => `2026-11-21T10:00:00.123456789Z ${line}`,
  'docker compose logs': (line) => `web-1  | ${line}`,
  'docker compose logs -t, in colours': (line) =>
    `\u001b[36mweb-1  | \u001b[0m2026-11-21T10:00:00.1Z ${line}`,
  'kubectl logs --prefix': (line) => `[pod/shop-7d4b9c6f5-x2x7z/nginx] ${line}`,
  Docker: (line) => `{"log":${quote(`${line}\n`)},"stream":"stdout","time":"${LOGGED_AT}"}`,
  'Docker, without a line feed': (line) => `{"log":${quote(line)},"stream":"stdout","time":"${LOGGED_AT}"}`,
  journald: (line) =>
    `{"__REALTIME_TIMESTAMP":"1795255200500000","_HOSTNAME":"web1","SYSLOG_IDENTIFIER":"nginx","PRIORITY":"6","MESSAGE":${quote(line)}}`,
  'journald, as bytes': (line) =>
    `{"__REALTIME_TIMESTAMP":"1795255200500000","MESSAGE":${JSON.stringify([...Buffer.from(line)])}}`,
  Vector: (line) =>
    `{"file":"/var/log/nginx/access.log","host":"web1","message":${quote(line)},"source_type":"file","timestamp":"${LOGGED_AT}"}`,
  'Fluent Bit': (line) => `{"date":1795255200.5,"log":${quote(line)}}`,
  'Fluent Bit in Kubernetes': (line) =>
    `{"@timestamp":"${LOGGED_AT}","log":${quote(`2026-11-21T10:00:00.1Z stdout F ${line}`)},"kubernetes":{"pod_name":"shop"}}`,
  Filebeat: (line) =>
    `{"@timestamp":"${LOGGED_AT}","@metadata":{"beat":"filebeat"},"log":{"offset":0,"file":{"path":"/var/log/nginx/access.log"}},"message":${quote(line)},"input":{"type":"log"},"host":{"name":"web1"},"agent":{"type":"filebeat"},"ecs":{"version":"8.0.0"}}`,
  'Google Cloud': (line) =>
    `{"textPayload":${quote(line)},"insertId":"a","resource":{"type":"k8s_container"},"timestamp":"${LOGGED_AT}"}`,
  'syslog around Docker': (line) =>
    `Nov 21 10:00:00 web1 docker: {"log":${quote(`${line}\n`)},"stream":"stdout","time":"${LOGGED_AT}"}`,
};

describe.each(Object.entries(ENVELOPES))('in %s', (_, wrap) => {
  it('every format is read as without it', () => {
    for (const [format, line] of ALL) {
      const inside = readLine(wrap(line));
      expect([line, inside]).toEqual([line, { ...readLine(line), format }]);
    }
  });

  it('the time of the envelope is that of a line without one', () => {
    const line = '203.0.113.7:54321 - "GET /a HTTP/1.1" 200 OK';
    const parser = new LineParser(undefined);
    const result = parser.parse(wrap(line));
    // `docker compose logs` and `kubectl logs` have no time by themselves.
    const hasTime = /\d\d:\d\d:\d\d|179525520/.test(wrap(''));
    expect([hasTime, result !== null && 'record' in result]).toEqual([hasTime, hasTime]);
  });
});

describe('objects that a shipper parsed', () => {
  const ACCESS = {
    remote_addr: '203.0.113.7',
    request_method: 'GET',
    request_uri: '/a',
    status: 200,
    msec: 1795162502.417,
  };

  it.each([
    ['Filebeat', { '@timestamp': LOGGED_AT, json: ACCESS }],
    ['Google Cloud', { timestamp: LOGGED_AT, jsonPayload: ACCESS, resource: {} }],
    ['Fluent Bit', { date: 1, log_processed: ACCESS, kubernetes: {} }],
    ['Vector', { timestamp: LOGGED_AT, message: ACCESS }],
  ])('are read: %s', (_, line) => {
    expect(readLine(JSON.stringify(line))).toMatchObject({
      format: 'nginx',
      request: { timestamp: at('08:15:02.417'), url: '/a', client_ip: '203.0.113.7' },
    });
  });
});

describe('a line that a container runtime divided', () => {
  const line = SAMPLES.combined![0]!.line;
  const [first, second] = [line.slice(0, 60), line.slice(60)];

  it('is joined', () => {
    const parser = new LineParser(undefined);
    expect(parser.parse(`2026-11-21T10:00:00Z stdout P ${first}`)).toBeNull();
    expect(parser.parse(`2026-11-21T10:00:00Z stdout F ${second}`)).toMatchObject({
      record: { url: '/orders/42?full=1', response_time_ms: 215 },
    });
    expect(parser.parse(`2026-11-21T10:00:00Z stdout F ${line}`)).toMatchObject({ record: {} });
  });

  it('loses no line that follows a part without its rest', () => {
    const parser = new LineParser(undefined);
    parser.parse(`2026-11-21T10:00:00Z stdout P ${first}`);
    expect(parser.parse(`2026-11-21T10:00:00Z stdout F ${line}`)).toMatchObject({
      record: { url: '/orders/42?full=1' },
    });
  });

  it('of Docker is joined as well', () => {
    const parser = new LineParser(undefined);
    const long = line.replace('full=1', `q=${'a'.repeat(20_000)}`);
    const wrap = (log: string) => JSON.stringify({ log, stream: 'stdout', time: LOGGED_AT });
    expect(parser.parse(wrap(long.slice(0, 16_384)))).toBeNull();
    expect(parser.parse(wrap(`${long.slice(16_384)}\n`))).toMatchObject({
      record: { response_time_ms: 215 },
    });
  });
});

describe('what stands before a client', () => {
  it.each([
    'web1 nginx: 8.8.8.8 - bob',
    'shop-7d4b9c6f5-x2x7z nginx 8.8.8.8 - bob',
    '2026/11/20 web1 8.8.8.8 - bob',
    'a b c 8.8.8.8, 10.0.0.1 - bob',
    '- 8.8.8.8 - bob',
    '"-" 8.8.8.8 - bob',
    '10.0.0.1 8.8.8.8 - bob',
    '8.8.8.8 10.0.0.1 - bob',
    '"8.8.8.8" 10.0.0.1 - bob',
    'shop.example.com 8.8.8.8 - bob',
    '8.8.8.8:443 - bob',
  ])('is neither the client nor the user: %s', (before) => {
    expect(
      readLine(`${before} [20/Nov/2026:08:15:02 +0000] "GET /a HTTP/1.1" 200 12 "-" "curl/8"`),
    ).toMatchObject({
      request: { client_ip: '8.8.8.8', consumer: { identifier: 'bob' } },
    });
  });

  it('may be a name that a user gave himself', () => {
    const line = '8.8.8.8 - x 1.1.1.1 - y [20/Nov/2026:08:15:02 +0000] "GET /a HTTP/1.1" 401 12';
    expect(readLine(line)).toMatchObject({
      request: { client_ip: '8.8.8.8', consumer: { identifier: 'x 1.1.1.1 - y' } },
    });
  });
});

describe('X-Forwarded-For', () => {
  it.each([
    'X-Forwarded-For="8.8.8.8, 10.2.2.121"',
    'x_forwarded_for="8.8.8.8"',
    'forwarded_for="8.8.8.8:443, 10.0.0.1"',
    'xff=8.8.8.8',
    '"8.8.8.8,+10.0.0.1"',
    '"8.8.8.8:54321, 10.0.0.1:80"',
    '"for=8.8.8.8;proto=https, for=10.0.0.1"',
    '"10.0.0.1, 8.8.8.8"',
    '"-" X-Real-IP="8.8.8.8"',
  ])('behind the user agent names the client: %s', (further) => {
    const line = (host: string) =>
      `${host} - - [20/Nov/2026:08:15:02 +0000] "GET /a HTTP/1.1" 200 12 "-" "curl/8" ${further}`;
    expect(readLine(line('10.0.0.9')).request).toMatchObject({ client_ip: '8.8.8.8' });
    expect(readLine(line('lb-1')).request).toMatchObject({ client_ip: '8.8.8.8' });
    expect(readLine(line('1.1.1.1')).request).toMatchObject({ client_ip: '1.1.1.1' });
    expect(readLine(line('1.1.1.1'), undefined, { trustForwarded: true }).request).toMatchObject({
      client_ip: '8.8.8.8',
    });
  });

  it.each([
    ['"[2001:db8::7]:443, 2a00:1450::1"', '2a00:1450::1'],
    ['"for=\\"[2a00:1450::1]:443\\""', '2a00:1450::1'],
  ])('may have IPv6: %s', (further, client_ip) => {
    const line = `10.0.0.1 - - [20/Nov/2026:08:15:02 +0000] "GET /a HTTP/1.1" 200 12 "-" "curl/8" ${further}`;
    expect(readLine(line).request).toMatchObject({ client_ip });
  });

  it('is read in IIS, with plus signs for blanks', () => {
    const parser = new LineParser(undefined);
    parser.parse('#Fields: date time cs-method cs-uri-stem sc-status c-ip X-Forwarded-For');
    expect(parser.parse('2026-11-20 08:15:02 GET /a 200 10.0.0.1 8.8.8.8:1025,+10.0.0.2')).toMatchObject({
      record: { client_ip: '8.8.8.8' },
    });
  });
});
