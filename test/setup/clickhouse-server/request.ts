import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Statement } from './engine.js';

/** What a client asked for over HTTP. */
export interface StoreRequest {
  queryId: string;
  user: string;
  password: string;
  statement: Statement;
}

/** Parameters of the URL that are not settings. */
const RESERVED = new Set(['query', 'query_id', 'database', 'default_format', 'user', 'password']);

/** Reads a request as the HTTP interface of a server does. */
export async function readRequest(request: IncomingMessage): Promise<StoreRequest> {
  const url = new URL(request.url ?? '', 'http://store');
  const fields = new Map(url.searchParams);
  const body = (await buffer(request)).toString();
  const given = pick(fields, (name) => (RESERVED.has(name) || name.startsWith('param_') ? undefined : name));
  return {
    queryId: fields.get('query_id') ?? '',
    ...credentials(request, fields),
    statement: {
      query: [fields.get('query') ?? '', body].join('\n').trim(),
      database: fields.get('database'),
      settings: request.method === 'GET' ? { readonly: '2', ...given } : given,
      params: pick(fields, (name) => (name.startsWith('param_') ? name.slice('param_'.length) : undefined)),
      format: fields.get('default_format') ?? 'TabSeparated',
    },
  };
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
