/**
 * Lets Node run the sources as they are, in processes that tests start: `node --import ./test/setup/typescript.js a.ts`.
 */
import { register } from 'node:module';

register('./typescript-hooks.js', import.meta.url);
