import { Config, ConfigError } from '../../config/config.js';
import { ServiceUnreachable, callService } from '../../mcp/call-service.js';
import { AdminError } from '../../ops/admin/admin.error.js';
import { parseJson } from '../../shared/json/parse-json.js';

/** The variables of a command that asks a service, for the end of its help. */
export const SERVICE_VARIABLES = '\nAPI_URL is the address of the service, API_KEY an API key for it.';

/**
 * Asks the service at API_URL with the key API_KEY.
 *
 * @param path below `/v1`
 * @param body of a POST; undefined: a GET
 * @returns the text of a 200
 * @throws AdminError if the service refuses the question, or cannot be reached
 */
export async function askService(path: string, body?: object): Promise<string> {
  const { url, key } = new Config().api;
  if (key === undefined) throw new ConfigError('Invalid configuration. API_KEY: must be set');
  const { response, text } = await callService(`${url.replace(/\/+$/, '')}/v1/${path}`, key, body).catch(
    (error: unknown) => {
      throw error instanceof ServiceUnreachable ? new AdminError(error.message) : error;
    },
  );
  if (response.ok) return text;
  throw new AdminError(`The service answered ${response.status}: ${describeRefusal(text)}`);
}

/** @throws AdminError if a text is not a JSON object, such as the page of a proxy */
export function readAnswer(text: string): object {
  const answer = parseObject(text);
  if (answer) return answer;
  throw new AdminError('The answer is not one of this service');
}

function describeRefusal(text: string): string {
  const { detail } = (parseObject(text) ?? {}) as { detail?: string | { loc: string[]; msg: string }[] };
  if (!Array.isArray(detail)) return detail ?? 'no answer of this service';
  return detail.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`).join('; ');
}

function parseObject(text: string): object | undefined {
  try {
    const value = parseJson(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
