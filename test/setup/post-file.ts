import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';

export interface PostedFile {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  trailers: NodeJS.Dict<string>;
}

/** A POST of JSON over a connection of its own, which does not read the response. */
export async function postOnly(
  base: string,
  path: string,
  { headers, body }: { headers: Readonly<Record<string, string>>; body: unknown },
): Promise<IncomingMessage> {
  const outgoing = request(base + path, { method: 'POST', agent: false, headers });
  outgoing.end(JSON.stringify(body));
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  return incoming;
}

/** The same with all of the response. @throws Error when it breaks off */
export async function postFor(...sent: Parameters<typeof postOnly>): Promise<PostedFile> {
  const incoming = await postOnly(...sent);
  const body = await buffer(incoming);
  const { statusCode: status = 0, headers, trailers } = incoming;
  return { status, headers, body, trailers };
}
