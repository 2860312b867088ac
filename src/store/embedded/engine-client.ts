import { type ClickHouseClient, createClient } from '@clickhouse/client';
import type { NodeClickHouseClientConfigOptions } from '@clickhouse/client/dist/config.js';

type Connection = NonNullable<NodeClickHouseClientConfigOptions['connection']>;

/** The methods of the official client's connection that `ClickHouse` uses. */
export type EngineConnection = Pick<Connection, 'exec' | 'command' | 'close'>;
export type EngineParams<Method extends 'exec' | 'command'> = Parameters<Connection[Method]>[0];

/** The official client with another connection than its own. */
export function createEngineClient(connection: EngineConnection): ClickHouseClient {
  return createClient({ connection: connection as Connection });
}
