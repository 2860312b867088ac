/**
 * Lets Node run the sources as they are, in processes that tests start:
 * `node --import ./test/setup/typescript.js a.ts`.
 */
import * as nodeModule from 'node:module';
import * as hooks from './typescript-hooks.js';

// Node 20 has no `registerHooks`, and in Node 26 `register` is deprecated.
if (nodeModule.registerHooks) nodeModule.registerHooks(hooks);
else nodeModule.register('./typescript-hooks.js', import.meta.url);
