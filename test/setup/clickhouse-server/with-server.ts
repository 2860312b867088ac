/** Runs a command with `CLICKHOUSE_URL` set to a server of its own: `with-server.ts npx jest test/e2e`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ClickHouseServer } from './clickhouse-server.js';

const [command = '', ...args] = process.argv.slice(2);
const server = await ClickHouseServer.start();
const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, CLICKHOUSE_URL: server.url } });
const [code] = (await once(child, 'exit')) as [number | null];
await server.stop();
process.exitCode = code ?? 1;
