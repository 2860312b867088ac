/**
 * Ways to write a secret, which redaction recognizes in every place. A secret has letters, digits and
 * hyphens.
 */
export const SECRET_FORMS: Readonly<Record<string, (secret: string) => string>> = {
  assignment: (secret) => `login with password=${secret} failed`,
  quoted: (secret) => `password := "${secret}", x := 1`,
  parameter: (secret) => `GET /a?b=1&api_key=${secret}&c=2 200`,
  userInfo: (secret) => `to postgres://app:${secret}@db/x`,
  authorization: (secret) => `INFO Authorization: Splunk ${secret}`,
  cookie: (secret) => `Cookie: theme=dark; sid=${secret}`,
  bearer: (secret) => `sent Bearer ${secret} to b`,
  webSocket: (secret) => `Sec-WebSocket-Protocol: bearer, ${secret}`,
  webToken: (secret) => `token is eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.${secret}`,
  json: (secret) => JSON.stringify({ user: { name: 'Ann', password: secret }, n: 1 }),
  jsonBelow: (secret) => JSON.stringify({ credentials: { user: 'Ann', list: [secret] } }),
  jsonPair: (secret) => JSON.stringify([{ name: 'password', value: secret }]),
  jsonPairReversed: (secret) => JSON.stringify([{ value: secret, type: 'text', key: 'apiKey' }]),
  jsonHeaders: (secret) =>
    JSON.stringify({
      headers: [
        ['Accept', 'a'],
        ['Authorization', `Digest ${secret}`],
      ],
    }),
  jsonRawHeaders: (secret) => JSON.stringify(['Accept', 'a/b', 'X-Api-Key', secret]),
  jsonArguments: (secret) => JSON.stringify(['mysql', '--password', secret, '-v']),
  jsonUser: (secret) => JSON.stringify(['curl', '-u', `ann:${secret}`, 'https://a']),
  jsonInText: (secret) => `body: {"credentials":{"a":"${secret}"},"b":1} c`,
  jsonCut: (secret) => `{"items":[1,2],"api_key":"${secret}`,
  python: (secret) => `{'password': b'${secret}', 'a': 1}`,
  pythonTuples: (secret) => `[('x-api-key', '${secret}'), ('accept', 'a')]`,
  ruby: (secret) => `{:password=>"${secret}", :a=>1}`,
  rust: (secret) => `User { password: Some("${secret}"), id: 7 }`,
  element: (secret) => `<a><ns:password t="1">${secret}</ns:password></a>`,
  cdata: (secret) => `<a><secret><![CDATA[${secret}]]></secret></a>`,
  elementBelow: (secret) => `<a><password><value>${secret}</value></password></a>`,
  elementPair: (secret) => `<p><name>db.password</name><value>${secret}</value></p>`,
  attribute: (secret) => `<user name="ann" password="${secret}"/>`,
  attributePair: (secret) => `<add key="ApiSecret" value="${secret}"/>`,
  attributeOfElement: (secret) => `<entry key="api_key">${secret}</entry>`,
  multipart: (secret) =>
    `--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n${secret}\r\n--b--\r\n`,
  multipartBare: (secret) =>
    `--b\r\nContent-Disposition: form-data; name=password\r\n\r\n${secret}\r\n--b--\r\n`,
  privateKey: (secret) =>
    `-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n${secret}\nMIIEow==\n-----END RSA PRIVATE KEY-----`,
  privateKeyCut: (secret) => `-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEAMIIEowIBAAKCAQEA\n${secret}`,
  constraint: (secret) => `DETAIL:  Key (id, token)=(7, ${secret}) already exists.`,
  identified: (secret) => `CREATE USER ann IDENTIFIED BY '${secret}'`,
  role: (secret) => `ALTER ROLE ann WITH LOGIN PASSWORD '${secret}'`,
  option: (secret) => `run --token ${secret} --retries 3`,
  optionEquals: (secret) => `run --client-secret=${secret} -v`,
  curl: (secret) => `curl -u ann:${secret} https://a.example`,
  code: (secret) => `GET /oauth/callback?code=${secret}&x=1`,
  codeWithState: (secret) => `https://a.example/b?state=xyz&code=${secret}`,
  fullWidth: (secret) => `ｐａｓｓｗｏｒｄ＝${secret}`,
  metadata: (secret) => `Metadata(authorization=Bearer ${secret})`,
};

/** Ways to write a text in another one. */
export const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  url: encodeURIComponent,
  form: (text) => new URLSearchParams({ a: text, b: '1' }).toString(),
  json: (text) => JSON.stringify({ a: text }),
  jsonText: (text) => `message ${JSON.stringify(text)}`,
  jsonUnicode: (text) =>
    `{"a":"${Array.from(text, (letter) => (/[\w -]/.test(letter) ? letter : `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)).join('')}"}`,
  html: (text) =>
    text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
};
