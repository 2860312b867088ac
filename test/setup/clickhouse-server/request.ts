import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Statement } from './engine.js';
import { ServerException } from './exception.js';

/** What a client asked for over HTTP. */
export interface StoreRequest {
  queryId: string;
  user: string;
  password: string;
  statement: Statement;
}

/** The server's own default for `http_max_field_value_size`, in bytes. */
const MAX_FIELD_BYTES = 131_072;
/** Parameters of the URL that are not settings. */
const RESERVED = new Set(['query', 'query_id', 'database', 'default_format', 'user', 'password']);
const PART = /^Content-Disposition: form-data; name="([^"]+)"\r\n\r\n([^]*)\r\n$/;

/** Reads a request as the HTTP interface of a server does. */
export async function readRequest(request: IncomingMessage): Promise<StoreRequest> {
  const url = new URL(request.url ?? '', 'http://store');
  const fields = new Map(url.searchParams);
  const body = (await buffer(request)).toString();
  const boundary = /^multipart\/form-data; boundary=(\S+)$/.exec(request.headers['content-type'] ?? '')?.[1];
  if (boundary !== undefined) for (const [name, value] of parseParts(body, boundary)) fields.set(name, value);
  const given = pick(fields, (name) => (RESERVED.has(name) || name.startsWith('param_') ? undefined : name));
  return {
    queryId: fields.get('query_id') ?? '',
    ...credentials(request, fields),
    statement: {
      query: [fields.get('query') ?? '', boundary === undefined ? body : ''].join('\n').trim(),
      database: fields.get('database'),
      settings: request.method === 'GET' ? { readonly: '2', ...given } : given,
      params: pick(fields, (name) => (name.startsWith('param_') ? name.slice('param_'.length) : undefined)),
      format: fields.get('default_format') ?? 'TabSeparated',
    },
  };
}

function parseParts(body: string, boundary: string): [name: string, value: string][] {
  const parts = body.split(`--${boundary}`);
  if (!parts.at(-1)?.startsWith('--')) throw new ServerException(33, 'Unexpected EOF');
  return parts.slice(1, -1).map((part) => {
    const [, name = '', value = ''] = PART.exec(part.slice('\r\n'.length)) ?? [];
    if (Buffer.byteLength(value) > MAX_FIELD_BYTES)
      throw new ServerException(1000, 'HTML Form Exception: Field value too long');
    return [name, value];
  });
}

function credentials({ headers }: IncomingMessage, fields: ReadonlyMap<string, string>) {
  const [, basic] = /^Basic (.*)$/.exec(headers.authorization ?? '') ?? [];
  if (basic !== undefined) {
    const [user = '', ...password] = Buffer.from(basic, 'base64').toString().split(':');
    return { user, password: password.join(':') };
  }
  const header = (name: string) => headers[name]?.toString();
  return {
    user: header('x-clickhouse-user') ?? fields.get('user') ?? 'default',
    password: header('x-clickhouse-key') ?? fields.get('password') ?? '',
  };
}

function pick(fields: ReadonlyMap<string, string>, nameOf: (field: string) => string | undefined) {
  const picked: Record<string, string> = {};
  for (const [field, value] of fields) {
    const name = nameOf(field);
    if (name !== undefined) picked[name] = value;
  }
  return picked;
}
