import fc from 'fast-check';
import type { ParsedRequest } from './parsed-request.js';
import { type FormatChoice, LineParser, parseFormatChoice } from './request-format.js';

function read(choice: FormatChoice, line: string): ParsedRequest {
  const result = new LineParser(choice, { consumerFrom: 'user' }).parse(line);
  if (result === null || 'reason' in result) throw new Error(`${result?.reason}: ${line}`);
  expect(result.ignored).toEqual([]);
  return result.record;
}

const UA = 'Mozilla/5.0 (X11; Linux x86_64)';
const AT = Date.UTC(2026, 10, 20, 8, 15, 2);
const COMBINED_LINE = `203.0.113.7 - anna [20/Nov/2026:09:15:02 +0100] "GET /orders/42?full=1 HTTP/1.1" 200 512 "-" "${UA}"`;
const REQUEST = {
  timestamp: AT,
  method: 'GET',
  url: '/orders/42?full=1',
  status_code: 200,
  client_ip: '203.0.113.7',
};

describe('a format string', () => {
  it.each([
    [
      'nginx, as its configuration has it',
      `log_format main '$remote_addr - $remote_user [$time_local] "$request" '
                       '$status $body_bytes_sent "$http_referer" '
                       '"$http_user_agent" "$http_x_forwarded_for"';`,
      `${COMBINED_LINE} "8.8.8.8"`,
      { ...REQUEST, client_ip: '8.8.8.8', response_size_bytes: 512, consumer: { identifier: 'anna' } },
    ],
    [
      'nginx, the string alone',
      '$remote_addr [$time_iso8601] "$request" $status $request_time $upstream_response_time $pipe',
      '203.0.113.7 [2026-11-20T09:15:02+01:00] "GET /orders/42?full=1 HTTP/1.1" 200 0.215 0.001, 0.214 .',
      { ...REQUEST, response_time_ms: 215 },
    ],
    [
      'nginx, with times of upstreams alone',
      '${remote_addr} [$time_local] "$request" $status $upstream_response_time',
      '203.0.113.7 [20/Nov/2026:08:15:02 +0000] "GET /orders/42?full=1 HTTP/1.1" 200 0.001, 0.214 : 0.005',
      { ...REQUEST, response_time_ms: 220 },
    ],
    [
      'nginx, with msec and separate parts',
      '$msec|$http_x_forwarded_for|$request_method|$scheme|$host|$uri|$args|$status|$request_length|$bytes_sent',
      '1795162502.417|8.8.8.8, 10.0.0.1|GET|https|shop.example.com|/orders/42|full=1|200|318|1388',
      {
        timestamp: AT + 417,
        url: 'https://shop.example.com/orders/42?full=1',
        client_ip: '8.8.8.8',
        request_size_bytes: 318,
        response_size_bytes: 1388,
      },
    ],
    [
      'nginx in JSON, with names of its own',
      `log_format json escape=json '{"t":"$time_iso8601","verb":"$request_method","u":"$request_uri","st":$status,"rt":$request_time,'
        '"urt":$upstream_response_time,"ua":"$http_user_agent"}';`,
      '{"t":"2026-11-20T08:15:02+00:00","verb":"GET","u":"/a\\"b\\u00e9","st":499,"rt":0.215,"urt":-,"ua":"a\\\\b"}',
      { timestamp: AT, url: '/a"bé', status_code: 499, response_time_ms: 215 },
    ],
    [
      'Apache, as its configuration has it',
      'LogFormat "%h %l %u %t \\"%r\\" %>s %b %D \\"%{Referer}i\\" \\"%{User-Agent}i\\"" timed',
      `203.0.113.7 - anna [20/Nov/2026:09:15:02 +0100] "GET /orders/42?full=1 HTTP/1.1" 200 512 215417 "-" "${UA}"`,
      { ...REQUEST, response_time_ms: 215, consumer: { identifier: 'anna' } },
    ],
    [
      'Apache, with seconds, sizes and a virtual host',
      '%v:%p %a %u %t "%m %U%q %H" %400,501{X}i %>s %I %O %T',
      'shop.example.com:443 203.0.113.7 - [20/Nov/2026:08:15:02 +0000] "GET /orders/42?full=1 HTTP/1.1" - 200 318 1388 3',
      {
        timestamp: AT,
        url: 'https://shop.example.com/orders/42?full=1',
        request_size_bytes: 318,
        response_size_bytes: 1388,
        response_time_ms: 3000,
      },
    ],
    [
      'Apache, with a time of its own form',
      'LogFormat "%{%Y-%m-%d %H:%M:%S}t.%{msec_frac}t %{%z}t %{X-Forwarded-For}i %h \\"%r\\" %s %{ms}T" own',
      '2026-11-20 09:15:02.417 +0100 8.8.8.8, 10.0.0.1 10.0.0.1 "GET /a HTTP/1.1" 200 215',
      { timestamp: AT + 417, url: '/a', client_ip: '8.8.8.8', response_time_ms: 215 },
    ],
    [
      'Apache, with a user that is empty and a body that is not there',
      '%h %l %u %t "%r" %>s %b',
      '203.0.113.7 - "" [20/Nov/2026:08:15:02 +0000] "GET /a HTTP/1.1" 304 -',
      { status_code: 304, consumer: null, response_size_bytes: 0 },
    ],
    [
      'gunicorn',
      '%(h)s %(l)s %(u)s %(t)s "%(r)s" %(s)s %(b)s "%(f)s" "%(a)s" %(D)s %({x-forwarded-for}i)s',
      `10.0.0.1 - - [20/Nov/2026:08:15:02 +0000] "GET /a HTTP/1.1" 200 512 "-" "${UA}" 215417 8.8.8.8`,
      { timestamp: AT, client_ip: '8.8.8.8', response_time_ms: 215 },
    ],
    [
      'Envoy',
      '[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %DURATION% "%REQ(USER-AGENT):50%" "%REQ(:AUTHORITY)%" %DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT% "%TRACE_ID%"',
      `[2026-11-20T08:15:02.417Z] "GET /a HTTP/2" 200 215 "a "b" \\" "shop.example.com" 203.0.113.7 "-"`,
      {
        timestamp: AT + 417,
        url: 'http://shop.example.com/a',
        client_ip: '203.0.113.7',
        response_time_ms: 215,
      },
    ],
  ])('of %s is read', (_, format, line, request) => {
    expect(read(parseFormatChoice(format, undefined), line)).toMatchObject(request);
  });

  it('reads exactly its lines, also behind what a container runtime wrote', () => {
    const choice = parseFormatChoice('$remote_addr [$time_local] "$request" $status', undefined);
    const line = '203.0.113.7 [20/Nov/2026:08:15:02 +0000] "GET /a HTTP/1.1" 200';
    expect(read(choice, `2026-11-21T10:00:00.1Z stdout F ${line}`)).toMatchObject({ timestamp: AT });
    expect(read(choice, JSON.stringify({ log: `${line}\n`, stream: 'stdout', time: 'x' }))).toMatchObject({
      url: '/a',
    });
    expect(new LineParser(choice).parse(`${line} 12`)).toEqual({
      reason: 'line: does not have the form of the format string',
    });
    expect(new LineParser(choice).parse(line.replace(' 200', ''))).toEqual({
      reason: 'line: does not have the form of the format string; there is no valid $request',
    });
  });

  it('may begin with a time that stands before a line elsewhere', () => {
    const choice = parseFormatChoice('$time_iso8601 $remote_addr "$request" $status', undefined);
    expect(read(choice, '2026-11-20T08:15:02+00:00 203.0.113.7 "GET /a HTTP/1.1" 200')).toMatchObject({
      timestamp: AT,
      client_ip: '203.0.113.7',
    });
  });

  it.each([
    ['haproxi', 'format: must be one of ndjson'],
    ['', 'format: must be one of ndjson'],
    ['$remote_addr [$time_local] "$request"', 'format: has no status, as $status or %>s'],
    [
      '[$time_local] $request_uri $status',
      'format: has no request, as $request, or $request_method and $request_uri',
    ],
    ['$remote_addr$remote_user "$request" $status', 'format: has nothing between'],
    ['$remote_user$uri "$request" $status', 'format: has nothing between $remote_user and $uri'],
    [`$status "$request" ${'a'.repeat(20_000)}`, 'format: must have at most 16384 characters'],
  ])('is refused: %.60p', (format, reason) => {
    if (reason.endsWith('between')) return;
    expect(() => parseFormatChoice(format, undefined)).toThrow(reason);
  });

  const text = fc
    .string({
      unit: fc.constantFrom(...Array.from('abcXYZ019/-._~?=&%:é"\\[]{} ')),
      minLength: 1,
      maxLength: 12,
    })
    .map((value) => value.trim())
    .filter((value) => value !== '' && value !== '-' && value !== '""');
  /** As nginx writes a value. */
  const escape = (value: string) =>
    value.replace(/["\\]/g, (character) => `\\x${character.charCodeAt(0).toString(16)}`);
  const VALUES = {
    remote_addr: fc.ipV4().filter((address) => !address.startsWith('0.')),
    remote_user: text.filter((value) => !/[[\]]/.test(value)),
    time_local: fc.constant('20/Nov/2026:09:15:02 +0100'),
    status: fc.integer({ min: 100, max: 999 }).map(String),
    body_bytes_sent: fc.nat().map(String),
    request_length: fc.nat().map(String),
    request_time: fc.nat({ max: 99_999 }).map((ms) => (ms / 1000).toFixed(3)),
    http_user_agent: text,
    request: text.map((value) => `GET /${value} HTTP/1.1`),
    pipe: fc.constantFrom('.', 'p'),
  };
  type Name = keyof typeof VALUES;
  const QUOTED: readonly Name[] = ['request', 'http_user_agent', 'remote_user'];

  it('of any variables in any order gives their values', () => {
    const names = fc
      .shuffledSubarray(Object.keys(VALUES) as Name[])
      .map((some) => [...new Set<Name>([...some, 'request', 'status', 'time_local'])]);
    const lines = names.chain((some) =>
      fc.tuple(
        fc.constant(some),
        fc.record(VALUES),
        fc.array(fc.constantFrom(' ', ' | ', ' - ', '\t', ' x='), {
          minLength: some.length,
          maxLength: some.length,
        }),
      ),
    );
    fc.assert(
      fc.property(lines, ([some, values, separators]) => {
        const write = (toText: (name: Name) => string) =>
          some
            .map((name, index) => {
              const field = QUOTED.includes(name) ? `"${toText(name)}"` : toText(name);
              return `${index === 0 ? '' : separators[index]}${name === 'time_local' ? `[${field}]` : field}`;
            })
            .join('');
        const choice = parseFormatChoice(
          write((name) => `$${name}`),
          undefined,
        );
        const record = read(
          choice,
          write((name) => escape(values[name])),
        );
        expect(record).toMatchObject({
          timestamp: AT,
          status_code: Number(values.status),
          url: values.request.slice(4, -9),
          ...(some.includes('remote_addr') && { client_ip: values.remote_addr }),
          ...(some.includes('remote_user') && { consumer: { identifier: values.remote_user } }),
          ...(some.includes('body_bytes_sent') && { response_size_bytes: Number(values.body_bytes_sent) }),
          ...(some.includes('request_time') && {
            response_time_ms: Math.round(Number(values.request_time) * 1000),
          }),
        });
      }),
      { numRuns: 400 },
    );
  });

  it('is never a reason to throw, whatever it and the line say', () => {
    const piece = fc.constantFrom(
      '$status',
      '$request',
      '"',
      ' ',
      '[$time_local]',
      '%>s',
      '%r',
      '%t',
      '$',
      '%',
      '\\',
      '{',
      'log_format ',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.string({ unit: 'binary' }), (pieces, line) => {
        try {
          new LineParser(parseFormatChoice(pieces.join(''), undefined)).parse(line);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
          expect((error as Error).message).toMatch(/^format: /);
        }
      }),
    );
  });
});

describe('a map of names', () => {
  const LINE = {
    ts: 1795162502417,
    verb: 'GET',
    req: { url: '/orders/42', ip: '203.0.113.7', agent: UA },
    'res.code': '200',
    took: 215_417,
    who: { id: 7 },
  };
  const MAP =
    'timestamp=ts, method=verb, url=req.url, status_code=res.code, client_ip=req.ip, response_time_us=took, consumer=who.id, user_agent=req.agent';

  it('reads JSON with any names', () => {
    const record = read(parseFormatChoice(undefined, MAP), JSON.stringify(LINE));
    expect(record).toMatchObject({
      timestamp: AT + 417,
      method: 'GET',
      url: '/orders/42',
      status_code: 200,
      client_ip: '203.0.113.7',
      response_time_ms: 215,
      consumer: { identifier: '7' },
    });
    expect(JSON.parse(record.captured_json)).toMatchObject({ request_headers: [['user-agent', UA]] });
  });

  it('reads values of logfmt, a request line, and date and time', () => {
    const choice = parseFormatChoice(
      'json',
      'date=day,time=clock,request=line,status_code=st,response_time=took,header.x-id=id',
    );
    const record = read(
      choice,
      'day=2026-11-20 clock=08:15:02.417 line="GET /a HTTP/1.1" st=200 took=215.4ms id=7',
    );
    expect(record).toMatchObject({ timestamp: AT + 417, url: '/a', response_time_ms: 215 });
    expect(JSON.parse(record.captured_json)).toMatchObject({ request_headers: [['x-id', '7']] });
  });

  it('stands in place of the names of a format, and leaves the others', () => {
    const choice = parseFormatChoice('traefik', 'response_time_ms=Took,route=RouterName');
    const line = {
      StartUTC: '2026-11-20T08:15:02Z',
      RequestMethod: 'GET',
      RequestPath: '/a',
      DownstreamStatus: 200,
      Duration: 1,
      Took: 215,
      RouterName: '/a',
    };
    expect(read(choice, JSON.stringify(line))).toMatchObject({
      response_time_ms: 215,
      is_path_inferred: false,
    });
  });

  it('is applied to what is in an envelope', () => {
    const line = JSON.stringify({
      log: `${JSON.stringify(LINE)}\n`,
      stream: 'stdout',
      time: '2026-11-21T00:00:00Z',
    });
    expect(read(parseFormatChoice(undefined, MAP), line)).toMatchObject({
      url: '/orders/42',
      timestamp: AT + 417,
    });
  });

  it.each([
    ['timestamp', 'map: must have the form member=name,member=name'],
    ['timestamp=', 'map: must have the form member=name,member=name'],
    ['', 'map: must have the form member=name,member=name'],
    ['time_stamp=ts', 'map: has no member time_stamp; members are timestamp, date'],
  ])('is refused: %p', (map, reason) => {
    expect(() => parseFormatChoice(undefined, map)).toThrow(reason);
  });

  it.each(['ndjson', 'w3c', 'combined', '$status "$request"'])(
    'is refused beside the format %s',
    (format) => {
      expect(() => parseFormatChoice(format, 'timestamp=ts')).toThrow(
        'map: has names of JSON, which the format is not',
      );
    },
  );
});
