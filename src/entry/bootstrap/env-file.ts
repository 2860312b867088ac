import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ConfigError, presetVariable } from '../../config/config.js';

/** In the working directory. */
export const ENV_FILE = '.env';

/**
 * Loads variables from a `.env` file in the working directory; variables of the environment take precedence.
 *
 * @throws ConfigError if it cannot be read
 */
export function loadEnvFile() {
  if (!existsSync(ENV_FILE)) return;
  try {
    const variables = parseEnv(readFileSync(ENV_FILE, 'utf8').replace(/^\uFEFF/, ''));
    for (const [name, value] of Object.entries(variables)) presetVariable(name, value ?? '');
  } catch (error) {
    throw new ConfigError(
      `Invalid configuration. .env cannot be read (${(error as NodeJS.ErrnoException).code})`,
    );
  }
}
