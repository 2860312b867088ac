/**
 * Runs a command against a ClickHouse server: `with-server.ts npx jest test/e2e`. It is the server of
 * `CLICKHOUSE_URL` where that variable is set; otherwise one is started (`ClickHouseServer`) and ends with
 * the command.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ClickHouseServer } from './clickhouse-server.js';

const [command = '', ...args] = process.argv.slice(2);
const server = process.env.CLICKHOUSE_URL ? undefined : await ClickHouseServer.start();
const env = server ? { ...process.env, CLICKHOUSE_URL: server.url } : process.env;
const child = spawn(command, args, { stdio: 'inherit', env });
const [code] = (await once(child, 'exit')) as [number | null];
await server?.stop();
process.exitCode = code ?? 1;
