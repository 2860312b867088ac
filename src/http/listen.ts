import { once } from 'node:events';
import type { Server } from 'node:http';
import { ConfigError } from '../config/config.js';

/** Codes of errors that say that the name has no address, or that the address is not of this machine. */
const WRONG_HOST = new Set(['ENOTFOUND', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL']);

/**
 * Makes a server listen.
 *
 * @param variable the variable that gave the port.
 * @throws ConfigError when a restart would not help: `host` is not of this machine, or the port needs other rights; else
 *   Error. Both are one line that names the variable.
 */
export async function listen(server: Server, variable: string, port: number, host: string): Promise<void> {
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
    throw new Error(`${variable}: ${message}`, { cause: error });
  }
}
