/** Longer than the time limit of any request of the service. */
const TIMEOUT_MS = 620_000;

/** The service did not answer, or not to the end; `message` says where and why. */
export class ServiceUnreachable extends Error {
  override readonly name = 'ServiceUnreachable';
}

/**
 * A request to a running service, with an API key.
 *
 * @param body of a POST; undefined: a GET
 * @param signal ends it early
 * @throws ServiceUnreachable
 */
export async function callService(
  url: string,
  key: string,
  body: object | undefined,
  signal?: AbortSignal,
): Promise<{ response: Response; text: string }> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'Api-Key': key, 'Content-Type': 'application/json', Accept: 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      // A redirect would send the key to another place.
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    return { response, text: await response.text() };
  } catch (error) {
    const { message, cause } = error as { message: string; cause?: NodeJS.ErrnoException };
    throw new ServiceUnreachable(
      `The service at ${url} cannot be reached (${cause?.code ?? cause?.message ?? message})`,
    );
  }
}
