/** An answer of the collector. */
export interface PostResponse {
  status: number;
  headers: Headers;
  body: { detail?: string; status?: string; rejected?: number };
}

/** Sends one message; rejects when the connection breaks. */
export async function post(url: string, body: string | Buffer): Promise<PostResponse> {
  const response = await fetch(url, { method: 'POST', body });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: JSON.parse(text) as PostResponse['body'],
  };
}
