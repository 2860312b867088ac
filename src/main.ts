import { runServer } from './bootstrap/run.js';

await runServer();
