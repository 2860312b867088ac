/** A response of the collector. */
export interface PostResponse {
  status: number;
  headers: Headers;
  body: { detail?: string; status?: string; rejected?: number };
}

/** Sends one message; rejects when the connection breaks. */
export async function post(
  url: string,
  body: string | Buffer,
  requestHeaders: Readonly<Record<string, string>> = {},
): Promise<PostResponse> {
  const response = await fetch(url, { method: 'POST', body, headers: requestHeaders });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return {
    status: response.status,
    headers: response.headers,
    body: (isJson ? JSON.parse(text) : { detail: text }) as PostResponse['body'],
  };
}
