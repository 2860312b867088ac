import { createRequire } from 'node:module';

const manifest = createRequire(import.meta.url)('#package.json') as { version: string };

/** The version in package.json, the one place where it is set. */
export const PRODUCT_VERSION = manifest.version;
