import { once } from 'node:events';
import { type Server, createServer } from 'node:net';
import { ConfigError } from '../../config/config.js';

/** Error codes for a name without an address, and for an address of another machine. */
const WRONG_HOST = new Set(['ENOTFOUND', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL']);

/** Wildcard addresses of a listener. */
const UNSPECIFIED = new Set(['0.0.0.0', '::']);

/**
 * Starts to listen.
 *
 * @param variable the variable that gave the port.
 * @param cure its value if another program has the port.
 * @throws ConfigError when a restart would not help: `host` is not of this machine, or the port needs other
 *   rights; else Error. Both are one line that names the variable, and the cure.
 */
export async function listen(
  server: Server,
  variable: string,
  port: number,
  host: string,
  cure = 'a free port',
): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (WRONG_HOST.has(code))
      throw new ConfigError(
        `Invalid configuration. HOST: ${host} is not an address of this machine (${code})`,
      );
    if (code === 'EACCES')
      throw new ConfigError(`Invalid configuration. ${variable}: this account may not listen on ${port}`);
    if (code === 'EADDRINUSE')
      throw new Error(
        `${variable}: another program listens on port ${port} of ${host}. Stop it, or set ${variable} to ${cure}.`,
        { cause: error },
      );
    throw new Error(`${variable}: ${message}`, { cause: error });
  }
}

/**
 * Fails if `listen` would fail, before anything else is loaded.
 *
 * @throws the errors of `listen`
 */
export async function requireFreePort(
  variable: string,
  port: number,
  host: string,
  cure?: string,
): Promise<void> {
  const server = createServer();
  await listen(server, variable, port, host, cure);
  server.close();
  await once(server, 'close');
}

/**
 * The URL under which a client on this machine reaches a listener; a client cannot connect to a wildcard
 * address.
 */
export function formatBaseUrl(host: string, port: number): string {
  const name = UNSPECIFIED.has(host) ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
