import { createRequire } from 'node:module';
import { dirname } from 'node:path';

const MANIFEST = '#package.json';
const require = createRequire(import.meta.url);

/** The version in package.json, the one place where it is set. */
export const PRODUCT_VERSION = (require(MANIFEST) as { version: string }).version;

/** Where package.json, `dist` and `clickhouse` are. */
export const PACKAGE_DIRECTORY = dirname(require.resolve(MANIFEST));
