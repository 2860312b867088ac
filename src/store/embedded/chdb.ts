import { ConfigError } from '../../config/config.js';

const NOT_INSTALLED = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);

/**
 * Loads the embedded engine's package. It is optional: an image for a server is a fifth as large without it.
 *
 * @throws ConfigError if it is not installed; a server must be configured then.
 */
export async function loadChdb() {
  try {
    const [{ createChdbConnection }, { Session, drainPending }] = await Promise.all([
      import('chdb/connection'),
      import('chdb'),
    ]);
    return { createChdbConnection, Session, drainPending };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!NOT_INSTALLED.has(code)) throw error;
    throw new ConfigError(
      'Invalid configuration. CLICKHOUSE_URL: must be set, because the embedded engine is not installed',
    );
  }
}
