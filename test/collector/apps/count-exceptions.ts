/**
 * A collector that counts the exceptions in traces at once, and then ends with SIGKILL: what it wrote last is
 * not marked as applied.
 */
import { pino } from 'pino';
import { Config } from '../../../src/config/config.js';
import { startCollectorOn } from '../../../src/entry/bootstrap/collector-server.js';
import { ClickHouse } from '../../../src/store/client/clickhouse.client.js';
import { BatchCommitter } from '../../../src/write/batches/batch-committer.js';

const config = new Config();
const store = await ClickHouse.open(config);
const { app } = await startCollectorOn(store, config, pino({ level: 'silent' }), 0);
await app.get(BatchCommitter).countExceptions();
console.log('counted');
process.kill(process.pid, 'SIGKILL');
