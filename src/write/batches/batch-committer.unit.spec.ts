import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import { ClickHouse } from '../../store/client/clickhouse.client.js';
import { LocalCoordinator } from '../../coordination/writer-coordinator.js';
import { Config } from '../../config/config.js';
import { BatchLog } from '../batch-log.js';
import { RequestClaims } from '../request-claims.js';
import { Telemetry } from '../../telemetry/telemetry.js';
import type { BatchBuilder } from './batch-builder.js';
import { BatchCommitter } from './batch-committer.js';
import { InstanceCounts } from './instance-counts.js';
import { MessageLocks } from './message-locks.js';
import { TraceExceptions } from './trace-exceptions.js';

describe('BatchCommitter', () => {
  it('maintains once at a time: a store that does not respond leaves nothing that a stop would wait for', async () => {
    Logger.overrideLogger(false);
    let requests = 0;
    const server = createServer((request) => {
      requests += 1;
      request.socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const store = await ClickHouse.open(new Config({ CLICKHOUSE_URL: `http://127.0.0.1:${port}` }));
    const log = new BatchLog(store);
    await log.apply({ id: randomUUID(), createdAt: 1_795_305_600, pieces: [] });
    jest.useFakeTimers({ doNotFake: ['nextTick', 'performance', 'queueMicrotask', 'setImmediate'] });
    const coordinator = new LocalCoordinator();
    const committer = new BatchCommitter(
      log,
      {} as BatchBuilder,
      new InstanceCounts(store, 0),
      new TraceExceptions(store, 0),
      new MessageLocks(coordinator),
      new RequestClaims(coordinator),
      Telemetry.none,
    );
    jest.advanceTimersByTime(20_000);
    jest.useRealTimers();
    await committer.close();
    // One of the maintenance, and one of the stop.
    expect(requests).toBe(2);
    await store.close();
    server.close();
  });
});
