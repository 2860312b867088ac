import { setTimeout as sleep } from 'node:timers/promises';
import { finish } from '../../src/shared/async/slices.js';
import fc from 'fast-check';
import { ENCODINGS, SECRET_FORMS } from '../factories/secret-forms.js';
import { EMPTY_CAPTURE, toBodyJson, toCaptureJson } from '../../src/records/capture.js';
import { parseJsonPath } from '../../src/config/json-path.js';
import { DEFAULT_REDACTION, type RedactionOptions } from '../../src/config/redaction.js';
import { Redactor } from '../../src/records/redaction/redactor.js';

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';
const CARD = '4111111111111111';

const redactor = Redactor.standard;

function createRedactor(options: Partial<RedactionOptions>): Redactor {
  return new Redactor({ ...DEFAULT_REDACTION, ...options });
}

/** The text of a redacted body; one that is no JSON is stored as a JSON string. */
function redactBody(body: string, ownRedactor = redactor): string | null {
  const captured_json = toCaptureJson({ ...EMPTY_CAPTURE, request_body_json: body });
  const redacted = finish(ownRedactor.redactRequest({ url: '/', path: '/', consumer: null, captured_json }));
  const { request_body_json } = JSON.parse(redacted.captured_json) as { request_body_json: string };
  return toBodyJson(body) === body ? request_body_json : (JSON.parse(request_body_json) as string);
}

function redactHeader(name: string, value: string, ownRedactor = redactor): string | undefined {
  const captured_json = toCaptureJson({ ...EMPTY_CAPTURE, request_headers: [[name, value]] });
  const redacted = finish(ownRedactor.redactRequest({ url: '/', path: '/', consumer: null, captured_json }));
  return (JSON.parse(redacted.captured_json) as { request_headers: string[][] }).request_headers[0]?.[1];
}

describe('Redactor', () => {
  it.each([
    ['/a?api_key=s3cr&x=1', '/a?api_key=******&x=1'],
    ['/a?x=1&ApiKey=s3cr#top', '/a?x=1&ApiKey=******#top'],
    ['/a?api%5Fkey=s3cr', '/a?api%5Fkey=******'],
    ['/a?%74oken=s3cr', '/a?%74oken=******'],
    ['/a?user[password]=s3cr&b', '/a?user[password]=******&b'],
    ['/a?token=two words&b=1', '/a?token=******&b=1'],
    ['/a?X-Amz-Signature=abc&key=AIza', '/a?X-Amz-Signature=******&key=******'],
    ['/a#access_token=s3cr&state=1', '/a#access_token=******&state=1'],
    ['https://ann:s3cr@host/a', 'https://******@host/a'],
    ['https://ann:s3@cr@host/a?b=c@d', 'https://******@host/a?b=c@d'],
    [`/reset/${JWT}`, '/reset/******'],
    [`/a?next=https%3A%2F%2Fb%3Ftoken%3Ds3cr%26c%3D1`, '/a?next=https%3A%2F%2Fb%3Ftoken%3D******%26c%3D1'],
    [`/a?filter=%7B%22password%22%3A%22s3cr%22%7D`, '/a?filter=%7B%22password%22%3A%22******%22%7D'],
    ['/a?b=%7B%22password%22%3A%22two words%22%7D&c=1', '/a?b=%7B%22password%22%3A%22******%22%7D&c=1'],
    [`/pay/${CARD}?a=1`, '/pay/******?a=1'],
    ['/a?broken=%zz&token=s3cr', '/a?broken=%zz&token=******'],
    [
      '/v1/token:verify?author=ann&tokens=5&max_tokens=9',
      '/v1/token:verify?author=ann&tokens=5&max_tokens=9',
    ],
    [
      '/a?pass=s3cr&pw=s3cr&otpCode=123456&totp=123456',
      '/a?pass=******&pw=******&otpCode=******&totp=******',
    ],
    ['/a?tokens=s3crs3cr&cache_key=x&compass=n', '/a?tokens=******&cache_key=x&compass=n'],
    ['/a?x=1&token=&y=2', '/a?x=1&token=&y=2'],
  ])('masks the secrets of the URL %s', (url, expected) => {
    expect(redactor.redactUrl(url)).toBe(expected);
  });

  it.each([
    ['Authorization', 'Basic dXNlcjpwYXNz', '******'],
    ['set-cookie', 'sid=1; Path=/', '******'],
    ['X-API-KEY', 'abc', '******'],
    ['proxy-authorization', 'abc', '******'],
    ['x-goog-iam-authorization-token', 'abc', '******'],
    ['referer', 'https://a/?api_key=s3cr', 'https://a/?api_key=******'],
    ['x-trace', `id=${JWT}`, 'id=******'],
    ['authorization', '', ''],
    ['user-agent', 'Mozilla/5.0 (X11; Linux x86_64)', 'Mozilla/5.0 (X11; Linux x86_64)'],
    ['idempotency-key', '7f3', '7f3'],
    ['x-ratelimit-limit-tokens', '150000', '150000'],
    ['x-ratelimit-reset-tokens', '6m0s', '6m0s'],
  ])('masks the secrets of the header %s: %s', (name, value, expected) => {
    expect(redactHeader(name, value)).toBe(expected);
  });

  it.each([
    'X-Functions-Key',
    'Ocp-Apim-Subscription-Key',
    'X-Auth-Key',
    'DD-APPLICATION-KEY',
    'Php-Auth-Pw',
  ])('masks the header %s', (name) => {
    expect(redactHeader(name, 's3cr')).toBe('******');
  });

  it.each([
    'X-Idempotency-Key',
    'Sec-WebSocket-Key',
    'sec-websocket-key1',
    'Surrogate-Key',
    'Cache-Key',
    'x-cache-key',
  ])('keeps the header %s', (name) => {
    expect(redactHeader(name, '7f3')).toBe('7f3');
  });

  it.each([
    ['GET /x?api_key=s3cr 200', 'GET /x?api_key=****** 200'],
    ['login with password=s3cr failed', 'login with password=****** failed'],
    ['password = "two words" rest', 'password = "******" rest'],
    ["{'password': 's3cr', 'a': 1}", "{'password': '******', 'a': 1}"],
    ['payload={\\"password\\":\\"s3cr\\",\\"a\\":1}', 'payload={\\"password\\":\\"******\\",\\"a\\":1}'],
    ['Authorization: Basic dXNlcjpwYXNz\nHost: a', 'Authorization: ******\nHost: a'],
    ['Cookie: a=1; b=2', 'Cookie: ******'],
    ['sent Bearer a1b2c3d4e5 to b', 'sent Bearer ****** to b'],
    ['Basic dXNlcjpwYXNz', 'Basic ******'],
    [`token is ${JWT}.`, 'token is ******'],
    ['card 4111 1111 1111 1111.', 'card ******.'],
    ['card 3782-822463-10005', 'card ******'],
    ['<a><ns:password t="1">s3cr</ns:password></a>', '<a><ns:password t="1">******</ns:password></a>'],
    ['<secret><![CDATA[s3cr]]></secret>', '<secret><![CDATA[******]]></secret>'],
    [
      '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\ns3cr\r\n--b',
      '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n******\r\n--b',
    ],
    ['postgres://app:s3cr@db/x', 'postgres://******@db/x'],
    ['grant_type=password&client_secret=s3cr', 'grant_type=password&client_secret=******'],
    ['[INFO] api_key=s3cr', '[INFO] api_key=******'],
    ['{"a":"b"} api_key=s3cr', '{"a":"b"} api_key=******'],
    ['DETAIL:  Key (api_key)=(s3cr) already exists.', 'DETAIL:  Key (api_key)=(******) already exists.'],
    ['Key (id, token)=(7, two words) already exists.', 'Key (id, token)=(******) already exists.'],
    [
      'DETAIL: Schlüssel »(token, id)=(a)b, 7)« existiert',
      'DETAIL: Schlüssel »(token, id)=(******)« existiert',
    ],
    ['Key ("apiKey")=(s3cr', 'Key ("apiKey")=(******'],
    ['password := "s3cr", x := 1', 'password := "******", x := 1'],
    ['Ocp-Apim-Subscription-Key: s3cr', 'Ocp-Apim-Subscription-Key: ******'],
    ['INFO Authorization: Splunk s3cr-s3cr id 7\nb', 'INFO Authorization: ******\nb'],
    ['Authorization: Bearer abcdefgh was sent', 'Authorization: ******'],
    ["curl -H 'Authorization: Token s3cr' a.example", "curl -H 'Authorization: ******' a.example"],
    ['authorization=Basic s3cr status=200', 'authorization=****** status=200'],
    ['{authorization=[Basic s3cr], host=[a]}', '{authorization=******'],
    ['cookie=a=s3cr; b=s3cr status=200', 'cookie=****** status=200'],
    ["password='two words' a", "password='******' a"],
    ["don't use token: 'two words\nat a.js:1", "don't use token: '******\nat a.js:1"],
    ["key_secret='-----BEGIN KEY-----\ns3cr", "key_secret='******"],
    ['password:=s3cr', 'password:=******'],
    ['os.environ["API_KEY"] = "s3cr"', 'os.environ["API_KEY"] = "******"'],
    ['AnyHashable("password"): "two words"', 'AnyHashable("password"): "******"'],
    ['User { password: Some("two words"), id: 7 }', 'User { password: Some("******"), id: 7 }'],
    ["{'password': b'two words', 'a': 1}", "{'password': b'******', 'a': 1}"],
    ['token=******;password=s3cr', 'token=******;password=******'],
    ['to amqp://ann:p@ss@host/a, not b@c', 'to amqp://******@host/a, not b@c'],
    ['a=%7B%22password%22%3A%22s3%20cr%22%7D', 'a=%7B%22password%22%3A%22******%22%7D'],
    ['a=%7B%22password%22%3A+%22s3+cr%22%7D', 'a=%7B%22password%22%3A+%22******%22%7D'],
    ['a=%22x%22&b=token%3Dab+cd%26c', 'a=%22x%22&b=token%3D******%26c'],
    [
      'q=%7B%22a%22%3A1%2c%22pa%73sword%22%3A+1234%7D&b=%7b%7d',
      'q=%7B%22a%22%3A1%2c%22pa%73sword%22%3A+%22******%22%7D&b=%7b%7d',
    ],
    ['q=%257B%2522token%2522%253A%2522s3cr%2522%257D', 'q=%257B%2522token%2522%253A%2522******%2522%257D'],
    [
      'q=%25257B%252522token%252522%25253A12%25257D',
      'q=%25257B%252522token%252522%25253A%252522******%252522%25257D',
    ],
    ['q=%5B%22Authorization%22%2C%22Basic%20s3cr%22%5D', 'q=%5B%22Authorization%22%2C%22******%22%5D'],
    [`a%2F${JWT.replaceAll('.', '%2E')}%2Fb`, 'a%2F******%2Fb'],
    [
      'key -----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAs3cr\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY----- a',
      'key -----BEGIN RSA PRIVATE KEY-----******-----END RSA PRIVATE KEY----- a',
    ],
    [
      '-----BEGIN PRIVATE KEY-----\\nMIIEowIBAAKCAQEAs3crMIIEowIBAAKCAQEA\\nMIIEow", b',
      '-----BEGIN PRIVATE KEY-----******", b',
    ],
    [
      'k=-----BEGIN%20EC%20PRIVATE%20KEY-----%0AMIIEowIBAAKCAQEAs3cr%2FMIIEowIBAAK%3D%0A-----END%20EC%20PRIVATE%20KEY-----&b',
      'k=-----BEGIN%20EC%20PRIVATE%20KEY-----******-----END%20EC%20PRIVATE%20KEY-----&b',
    ],
    [
      '<add key="ApiSecret" value="s3cr"/><add key="a" value="b"/>',
      '<add key="ApiSecret" value="******"/><add key="a" value="b"/>',
    ],
    ["<input type='password' name='x' value='s3cr'>", "<input type='password' name='x' value='******'>"],
    [
      '<entry key="api_key">s3cr</entry><entry key="a">b</entry>',
      '<entry key="api_key">******</entry><entry key="a">b</entry>',
    ],
    [
      '<password> <value a="b">s3cr</value><c/> two </password><d>e</d>',
      '<password> <value a="b">******</value><c/>******</password><d>e</d>',
    ],
    [
      '<name>password</name><value>s3cr</value><name>a</name><value>b</value>',
      '<name>password</name><value>******</value><name>a</name><value>b</value>',
    ],
    ['<key>ApiToken</key>\n<string>s3cr</string>', '<key>ApiToken</key>\n<string>******</string>'],
    ['&lt;password&gt;s3cr&lt;/password&gt;', '&lt;password&gt;******&lt;/password&gt;'],
    ['{&quot;password&quot;:&quot;two words&quot;}', '{&quot;password&quot;:&quot;******&quot;}'],
    ['{\\u0022password\\u0022:\\u0022two words\\u0022}', '{\\u0022password\\u0022:\\u0022******\\u0022}'],
    [
      '--b\r\nContent-Disposition: form-data; name=password\r\n\r\ns3cr\r\n--b',
      '--b\r\nContent-Disposition: form-data; name=password\r\n\r\n******\r\n--b',
    ],
    [
      '--b\nContent-Disposition: form-data; name="credentials"; filename="a"\n\ns3cr\ns3cr\n--b\nname="a"\n\nb',
      '--b\nContent-Disposition: form-data; name="credentials"; filename="a"\n\n******\n--b\nname="a"\n\nb',
    ],
    ['name="password"\\r\\n\\r\\ns3cr\\r\\n--b', 'name="password"\\r\\n\\r\\n******\\r\\n--b'],
    [
      'headers [["Authorization", "Digest s3cr"], ["Accept", "a"]]',
      'headers [["Authorization", "******"], ["Accept", "a"]]',
    ],
    ["[('x-api-key', 's3cr3t'), ('accept', 'a')]", "[('x-api-key', '******'), ('accept', 'a')]"],
    ['("authorization", "Basic s3cr")', '("authorization", "******")'],
    ['curl -u ann:s3cr https://a', 'curl -u ****** https://a'],
    ["curl --user 'ann:s3 cr' -X POST", "curl --user '******' -X POST"],
    ['curl --proxy-user=ann:s3cr a', 'curl --proxy-user=****** a'],
    ['run --token s3cr --retries 3 --password=s3cr', 'run --token ****** --retries 3 --password=******'],
    [
      "exec ['mysql', '--password', 's3cr', '-u', 'ann:s3cr']",
      "exec ['mysql', '--password', '******', '-u', '******']",
    ],
    ["CREATE USER ann IDENTIFIED BY 's3cr' b", "CREATE USER ann IDENTIFIED BY '******' b"],
    [
      "alter user ann identified with sha256_password by 's3''cr'",
      "alter user ann identified with sha256_password by '******'",
    ],
    ["CREATE ROLE ann WITH LOGIN PASSWORD 's3cr'", "CREATE ROLE ann WITH LOGIN PASSWORD '******'"],
    ["ALTER ROLE ann WITH ENCRYPTED PASSWORD 's3cr';", "ALTER ROLE ann WITH ENCRYPTED PASSWORD '******';"],
    ['GET /callback?code=4f0a1b2c3d4e&x=1 200', 'GET /callback?code=******&x=1 200'],
    ['Location: https://a/b?state=xyz&code=4f0a1b2c3d4e#c', 'Location: https://a/b?state=xyz&code=******#c'],
    ['grant_type=authorization_code&code=4f0a1b2c3d4e', 'grant_type=authorization_code&code=******'],
    [
      'next=https%3A%2F%2Fa%2Foauth%2Fcallback%3Fcode%3D4f0a1b2c3d4e',
      'next=https%3A%2F%2Fa%2Foauth%2Fcallback%3Fcode%3D******',
    ],
    ['Sec-WebSocket-Protocol: bearer, s3cr3t-s3cr3t', 'Sec-WebSocket-Protocol: bearer, ******'],
    [
      'base64url.bearer.authorization.k8s.io.c2VjcmV0LXMzY3I, b',
      'base64url.bearer.authorization.k8s.io.******, b',
    ],
    ['ｐａｓｓｗｏｒｄ=s3cr＆ｔｏｋｅｎ：s3cr', 'ｐａｓｓｗｏｒｄ=******＆ｔｏｋｅｎ：******'],
    [
      'body: {"credentials":{"a":"b","n":[1,null]},"c":"d"} e',
      'body: {"credentials":{"a":"******","n":["******",null]},"c":"d"} e',
    ],
    ['credentials={"a":"b \\"c","d":1}; e', 'credentials={"a":"******","d":"******"}; e'],
    ['Cookie: a=b; c={[1]}; f=g', 'Cookie: ******'],
    ['{"a" {"password":"x"} b', '{"a" {"password":"******"} b'],
  ])('masks the secrets of the text %s', (text, expected) => {
    expect(redactor.redactText(text)).toBe(expected);
  });

  it.each([
    'Bearer authentication is required, and Basic authentication is not',
    'the token expired; the author of the design signed it; 3 tokens',
    'if (token == other) Token.parse (auth/token.js:12:5)',
    'order 4111111111111112, 1735689600050000001, 0.4111111111111111, 2026-11-22',
    'id 5500e840-0e29-41d4-a716-446655440000 and +49 30 1234 5678 9012',
    'token=null, secret=undefined',
    'has_cookie=true status=500 path=/checkout error=timeout',
    'has_authorization=false status=500 path=/checkout',
    'Failed authorization: user 42 lacks role admin on project 7',
    'Missing cookie: user 42, please log in',
    'used tokens: 512, max_tokens=4096',
    'GET /v1/token:verify 200',
    'usage: login <password> [options] </b>',
    'Key (email, id)=(a@b, 7) already exists.',
    'redis://a/1,redis://b/2 for ann@b',
    'a=1&b=2 https://example.com:8080/x?y=z',
    'required ["password", "email"], tags ["auth","users"], enum ("pass", "fail") and [["a","token"]]',
    'docker run -u 1000:1000 --user app --token-ttl 5 --key-file a.pem',
    'use --token to log in, or -u for a user; --secret, then --password is asked for',
    '?code=404&state=NY GET /items?code=SUMMERSALE2024&page=2 ?state=CA&code=90210',
    '<a href="/login?b=%20c" id="token">text</a><b name="x" value="y"/> <password> and <c>d</c>',
    "Unexpected token 'x', secret \"db\" not found, type: 'token'",
    '-----BEGIN PRIVATE KEY----- is missing, -----BEGIN CERTIFICATE-----MIIEowIBAAKCAQEAs3crMIIEowIBAAKCAQEA',
    'the bearer, Alexander, and 50%25 of a%20b; &amp; C:\\users\\token',
  ])('keeps the text %s', (text) => {
    expect(redactor.redactText(text)).toBe(text);
  });

  it('masks members of JSON by name at any depth, and keeps all other bytes', () => {
    expect(
      redactBody(
        '{ "user" : {"passWord":"a\\"b","name":"Ann \\u00e9"},\n"list":[{"access_token":12.50},1.0,1e3], "p\\u0061ssword":"x", ' +
          '"secrets":{"a":["b",3,true,null,""]},"text":"{\\"api_key\\":\\"c\\"}", "password":null }',
      ),
    ).toBe(
      '{ "user" : {"passWord":"******","name":"Ann \\u00e9"},\n"list":[{"access_token":"******"},1.0,1e3], "p\\u0061ssword":"******", ' +
        '"secrets":{"a":["******","******",true,null,""]},"text":"{\\"api_key\\":\\"******\\"}", "password":null }',
    );
  });

  it('masks the values of pairs by their names, as forms, HAR and OTLP have them', () => {
    expect(
      redactBody(
        '[{"name":"password","value":"s3cr"},{"name":"user","value":"ann"},{"Key":"API_KEY","Value":7},' +
          '{"key":"token","value":{"stringValue":"s3crs3cr"},"type":"text"},{"name":"max_tokens","value":9},{"value":"a"},' +
          '{"value":"s3cr","token":"s3crs3cr","name":"password"},{"value":7,"id":1,"key":"pin_secret"},{"value":"ann","name":"user"}]',
      ),
    ).toBe(
      '[{"name":"password","value":"******"},{"name":"user","value":"ann"},{"Key":"API_KEY","Value":"******"},' +
        '{"key":"token","value":{"stringValue":"******"},"type":"text"},{"name":"max_tokens","value":9},{"value":"a"},' +
        '{"value":"******","token":"******","name":"password"},{"value":"******","id":1,"key":"pin_secret"},{"value":"ann","name":"user"}]',
    );
  });

  it('masks members called tokens, but no counts and no parts of a text', () => {
    expect(
      redactBody(
        '{"pass":"s3cr","tokens":["s3crs3cr"],"password_repeat":"s3cr","otp_code":123456,"key":"x","usage":{"total_tokens":512},"max_tokens":"9","stop_tokens":["end"]}',
      ),
    ).toBe(
      '{"pass":"******","tokens":["******"],"password_repeat":"******","otp_code":"******","key":"x","usage":{"total_tokens":512},"max_tokens":"9","stop_tokens":["end"]}',
    );
  });

  it('masks numbers of cards in JSON, and keeps those of orders', () => {
    expect(redactBody(`{"number":${CARD},"order":4111111111111112,"at":1735689600050000001}`)).toBe(
      '{"number":"******","order":4111111111111112,"at":1735689600050000001}',
    );
  });

  it.each([
    ['{"a":1,"password":"s3cr', '{"a":1,"password":"******'],
    ['{"a":1,"password":"s3cr\\', '{"a":1,"password":"******'],
    ['{"secret":{"a":"s3cr","b":"s3', '{"secret":{"a":"******","b":"******'],
    ['{"text":"x","password":s3cr}', '{"text":"x","password":******}'],
    ['{"password":"a"}\n{"password":"b"}\n', '{"password":"******"}\n{"password":"******"}\n'],
    ['password=s3cr&a=b', 'password=******&a=b'],
    ['  "password": "s3cr",', '  "password": "******",'],
    ['"password": "s3cr", "user": "bob"}', '"password": "******", "user": "bob"}'],
    ['"secrets": {"a": ["s3cr"]}, "user": "bob"', '"secrets": {"a": ["******"]}, "user": "bob"'],
    ['"token":"s3cr"}\n{"user":"bob"}', '"token":"******"}\n{"user":"bob"}'],
    ['["user": "bob", "password": "s3cr", "age": 4]', '["user": "bob", "password": "******", "age": 4]'],
    ['["a": ["token": "s3cr"], "b": 1]', '["a": ["token": "******"], "b": 1]'],
    ['"login failed": password=s3cr', '"login failed": password=******'],
  ])('masks the secrets of the damaged or other body %s', (body, expected) => {
    expect(redactBody(body)).toBe(expected);
  });

  it('leaves a body JSON, and has the paths of one that is none', () => {
    expect([redactBody(CARD), redactBody(`"${CARD}"`)]).toEqual(['"******"', '"******"']);
    const ownRedactor = createRedactor({ jsonPaths: [parseJsonPath('$.size')!] });
    expect(redactBody('{"size":1}\n{"size":2}', ownRedactor)).toBe('{"size":"******"}\n{"size":"******"}');
    expect(redactBody('{"size":1,"b":[', ownRedactor)).toBe('{"size":"******","b":[');
  });

  it('masks what is configured, in addition', () => {
    const ownRedactor = createRedactor({
      headers: ['X-Customer'],
      queryParameters: ['email'],
      jsonPaths: ['$.user.ssn_no', 'cards[*].holder', '$..iban', "$['a b'].c"].map((path) =>
        parseJsonPath(path)!,
      ),
    });
    expect(redactHeader('x-customer', 'Ann', ownRedactor)).toBe('******');
    expect(ownRedactor.redactUrl('/a?customerEmail=a@b&mail=1')).toBe('/a?customerEmail=******&mail=1');
    expect(
      redactBody(
        '{"user":{"ssn_no":"1","x":{"ssn_no":"2"}},"cards":[{"holder":"A"},{"holder":"B"}],"deep":[{"iban":{"n":1}}],"a b":{"c":1},"iban":"X"}',
        ownRedactor,
      ),
    ).toBe(
      '{"user":{"ssn_no":"******","x":{"ssn_no":"2"}},"cards":[{"holder":"******"},{"holder":"******"}],"deep":[{"iban":{"n":"******"}}],"a b":{"c":"******"},"iban":"******"}',
    );
  });

  it('keeps exceptions and forms that are off', () => {
    const ownRedactor = createRedactor({ exceptions: ['next-token'], forms: ['jwt'] });
    expect(ownRedactor.redactUrl(`/a?next_token=x&token=y&n=${CARD}`)).toBe(
      `/a?next_token=x&token=******&n=${CARD}`,
    );
  });

  it('changes nothing when it is off', () => {
    const text = `password=s3cr ${JWT} ${CARD}`;
    expect(new Redactor(null).redactText(text)).toBe(text);
    expect(redactHeader('authorization', 'Bearer x', new Redactor(null))).toBe('Bearer x');
  });

  it('masks attributes of spans by name, and keeps integers, times and IDs', () => {
    const capture = {
      ...EMPTY_CAPTURE,
      trace_id: 'a'.repeat(32),
      logs: [{ timestamp: 't', message: `jwt ${JWT}`, level: 'info', logger: null, file: null, line: 1 }],
      exception: { type: 'E', message: 'api_key=x', stacktrace: 'password="y"', tracker_event_id: null },
      spans: [
        {
          span_id: CARD,
          parent_span_id: CARD,
          name: 'GET /a?token=z',
          kind: null,
          start_time_ns: 4111111111111111n,
          end_time_ns: 4111111111111111n,
          duration_ns: 4111111111111111n,
          status: null,
          attributes: {
            'http.request.header.authorization': ['Bearer x'],
            'url.query': 'token=z&a=1',
            line: '"token": "z"',
            'app.pass': 'z',
            'http.request.header.x-functions-key': ['z'],
            'http.request.header.idempotency-key': ['z'],
            'messaging.kafka.message.key': 'z',
            'gen_ai.usage.output_tokens': 12,
            n: 9007199254740993n,
          },
        },
      ],
    };
    const { captured_json } = finish(
      redactor.redactRequest({ url: '/', path: null, consumer: null, captured_json: toCaptureJson(capture) }),
    );
    expect(captured_json).toContain('"message":"jwt ******"');
    expect(captured_json).toContain('"message":"api_key=******","stacktrace":"password=\\"******\\""');
    expect(captured_json).toContain(
      `"span_id":"${CARD}","parent_span_id":"${CARD}","name":"GET /a?token=******"`,
    );
    expect(captured_json).toContain('"start_time_ns":4111111111111111');
    expect(captured_json).toContain(
      '{"http.request.header.authorization":["******"],"url.query":"token=******&a=1","line":"\\"token\\": \\"******\\"","app.pass":"******",' +
        '"http.request.header.x-functions-key":["******"],"http.request.header.idempotency-key":["z"],' +
        '"messaging.kafka.message.key":"z","gen_ai.usage.output_tokens":12,"n":9007199254740993}',
    );
  });

  it('masks a parameter behind the mask of another value', () => {
    expect(redactor.redactText("password := ?x=;?password=b'a'")).toBe(
      "password := ******;?password=b'******'",
    );
  });

  it('masks each form of secret in each encoding within two others, and changes no other character', () => {
    const secret = 's3cr7-Q8x2vB9k-Zr51';
    const encodings = [(text: string) => text, ...Object.values(ENCODINGS)];
    const form = fc.constantFrom(...Object.keys(SECRET_FORMS));
    const layers = fc.array(fc.constantFrom(...encodings), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(form, layers, (name, encode) => {
        const text = encode.reduce((inner, write) => write(inner), SECRET_FORMS[name]!(secret));
        const url = `/a?b=${encodeURIComponent(text)}&c=1`;
        const attributes = JSON.stringify({ note: text });
        for (const [original, redact] of [
          [text, (given: string) => redactor.redactText(given)],
          [url, (given: string) => redactor.redactUrl(given)],
          [attributes, (given: string) => finish(redactor.redactAttributes(given))],
        ] as const) {
          const redacted = redact(original);
          expect([
            redacted.includes(secret),
            differsByMasksAlone(original, redacted),
            redact(redacted),
          ]).toEqual([false, true, redacted]);
        }
      }),
      // More with `PROPERTY_RUNS`, as in a nightly run.
      { numRuns: 200 * Number(process.env.PROPERTY_RUNS ?? 5) },
    );
  });

  it('leaves what it redacted as it is', () => {
    const name = fc.constantFrom(
      'password',
      'api_key',
      'Authorization',
      'Cookie',
      'x',
      '"token"',
      "'secret'",
      '\\"pwd\\"',
    );
    const value = fc.oneof(
      fc.constantFrom(
        '"a b"',
        "'a'",
        'Bearer a1b2c3d4e5',
        JWT,
        CARD,
        '{"secret":"x"}',
        'a://u:p@b',
        'a://u:p@q@b',
        "b'a'",
        'Some("a b")',
        '(a) b',
        '******',
        'x,',
        '',
      ),
      fc.string(),
    );
    const assignment = fc
      .tuple(name, fc.constantFrom('=', ': ', '%3D', ' => ', ' := '), value)
      .map((parts) => parts.join(''));
    const text = fc.tuple(
      fc.array(assignment, { maxLength: 5 }),
      fc.constantFrom('&', ', ', '\n', ' ; ', '?'),
    );
    fc.assert(
      fc.property(text, ([parts, separator]) => {
        const once = redactor.redactText(parts.join(separator));
        expect(redactor.redactText(once)).toBe(once);
        const url = redactor.redactUrl(`/a?${parts.map(encodeURI).join('&')}`);
        expect(redactor.redactUrl(url)).toBe(url);
      }),
      // More with `PROPERTY_RUNS`, as in a nightly run.
      { numRuns: 200 * Number(process.env.PROPERTY_RUNS ?? 5) },
    );
  });

  it.each([
    'cookie=',
    'authorization=',
    'token="',
    'token=',
    '-----BEGIN PRIVATE KEY-----',
    '<token>',
    '/?token=',
  ])('masks one value of 16 MB behind %s', (before) => {
    // A pattern with a place on the stack for each character would end the process.
    const value = 's3cr'.repeat(4_000_000);
    expect(redactor.redactText(`${before}${value}</token>`)).not.toContain('s3cr');
  });

  // A quadratic pattern takes minutes. A time limit ends a test only where it gives way to the timer.
  it('takes time linear in a text of any units', async () => {
    const unit = fc.constantFrom(
      ...['token', 'password', 'code', 'Authorization', 'bearer ', 'eyJ', '4111', '-u ', '--token', 'name='],
      ...[
        '=',
        ':',
        '"',
        "'",
        '\\',
        '\\"',
        '{',
        '}',
        '[',
        ']',
        '<',
        '</token>',
        '>',
        '&',
        '?',
        '%22',
        '%25',
        '%3D',
      ],
      ...[
        '&quot;',
        '&amp;',
        '(',
        ')=(',
        ', ',
        ' ',
        '\r\n',
        '://',
        '@',
        '-----BEGIN PRIVATE KEY-----',
        '＝',
        '+',
      ],
    );
    await fc.assert(
      fc.asyncProperty(fc.array(unit, { minLength: 1, maxLength: 6 }), async (units) => {
        const text = `token=1 ${units.join('').repeat(100_000 / units.length)}`;
        expect(redactor.redactText(text)).not.toContain('token=1 ');
        expect(redactor.redactUrl(text)).not.toContain('token=1 ');
        await sleep(0);
      }),
      { numRuns: 15 },
    );
  }, 60_000);

  it('keeps JSON valid and its shape', () => {
    const name = fc.constantFrom('a', 'password', 'token', 'items', 'x y');
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.string(),
        fc.integer(),
        fc.constantFrom(null, true, CARD, JWT, `{"password":"${JWT}"}`),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(name, tie('tree'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(tree, fc.constantFrom(0, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const redacted = redactBody(text) ?? '';
        expect(redacted).not.toContain(JWT);
        if (redacted === text || typeof value === 'string') return;
        expect(describeShape(JSON.parse(redacted))).toEqual(describeShape(value));
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    'eyJ-',
    'eyJ',
    'a=',
    'password',
    '"password":',
    '\\',
    '[',
    '{"a":',
    '"a":',
    '["a":',
    '"a":"b" ',
    '{"value":"a","name":"token",',
    '4',
    '4 ',
    '://',
    'bearer ',
    '?',
    '<a>',
    'name="',
    '%',
    '%3D',
    '& ',
    '(a)=(',
    '(token)=(b) ',
    '(',
    'password:=',
    'password: a(',
    '://a@',
    'cookie: a b ',
    'authorization=a ',
    "token: 'a",
    "token: 'a\\n",
    'password=abc Bearer ',
    '<token>1</token>',
    '<token>',
    '<a name="token">',
    'name="token" ',
    'token:"1",',
    '{"a":"{\\"token\\":\\"1\\"}"},',
    '["a" x',
    '["token","1"],',
    '%22token%22%3A%221%22',
    '%252522token%252522%25253A',
    '%25',
    '&lt;',
    '&amp;amp;',
    '\\u0022',
    '--token ',
    '-u a:b ',
    '?code=1&state=',
    "identified by 'a",
    'name=token\r\n\r\n',
    '-----BEGIN PRIVATE KEY-----a',
    'ｔ＝',
  ])(
    'takes time linear in a text of %s',
    async (unit) => {
      const text = `token=1 ${unit.repeat(Math.ceil(300_000 / unit.length))}`;
      expect(redactor.redactText(text)).toMatch(/^token=\*{6}/);
      expect(redactor.redactUrl(`/?${text}`)).toMatch(/^\/\?token=\*{6}/);
      expect(redactBody(text)).toMatch(/^token=\*{6}/);
      await sleep(0);
    },
    20_000,
  );
});

/**
 * Whether one text is the other with masks in it: what is between the masks is in the other one, in this
 * order.
 */
function differsByMasksAlone(original: string, redacted: string): boolean {
  // The mask of a number of JSON has quotes, written as the text around it.
  const pieces = redacted.split(
    /(?:[^\w\s*]|%(?:25)*(?:5C|22)|&(?:amp;)*quot;|u00(?:5c|22))*\*{6}(?:[^\w\s*]|%(?:25)*(?:5C|22)|&(?:amp;)*quot;|u00(?:5c|22))*/i,
  );
  let at = 0;
  for (const piece of pieces) {
    const found = original.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return original.startsWith(pieces[0] ?? '') && original.endsWith(pieces.at(-1) ?? '');
}

/** The value with each scalar replaced. */
function describeShape(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(describeShape);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, describeShape(member)]));
}

describe('a record of megabytes', () => {
  const value = 'token=1&'.repeat(1_000);
  const values = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`a${n}`, value]));

  it('is masked in steps of a few values', () => {
    const capture = { ...EMPTY_CAPTURE, request_headers: Object.entries(values) };
    const url = '/';
    for (const steps of [
      redactor.redactAttributes(JSON.stringify(values)),
      redactor.redactRequest({ url, path: url, consumer: null, captured_json: toCaptureJson(capture) }),
    ]) {
      let count = 0;
      for (; steps.next().done !== true; count++);
      expect(count).toBeGreaterThan(200);
    }
  });

  it('is masked as a small one', () => {
    const json = JSON.stringify(values);
    const masked = JSON.parse(finish(redactor.redactAttributes(json))) as Record<string, string>;
    expect(masked.a499).toBe(redactor.redactText(value));
    expect(Object.keys(masked)).toEqual(Object.keys(values));
    expect(finish(new Redactor(null).redactAttributes(json))).toBe(json);
  });
});
