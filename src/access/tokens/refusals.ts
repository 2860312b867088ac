import type { Config } from '../../config/config.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';

/** Why a sender is refused. */
export type RefusalCause =
  | 'no_token'
  | 'api_key'
  | 'unknown_token'
  | 'revoked_token'
  | 'unknown_client'
  | 'disabled_app'
  | 'wrong_port'
  | 'grpc';

/** The refusals of one sender at one route for one cause, as the store has them. */
export interface RefusedSender {
  /** The last one, ISO 8601. */
  refused_at: string;
  address: string;
  route: string;
  cause: RefusalCause;
}

const MAX_READ = 50;
const RECENT_MINUTES = 15;

const READ = (columns: string, condition: string) => `
SELECT max(r.refused_at) AS refused_at, ${columns} FROM refused_senders_v1 AS r
WHERE r.refused_at > now('UTC') - INTERVAL ${RECENT_MINUTES} MINUTE${condition}
GROUP BY ${columns} ORDER BY refused_at DESC, ${columns} LIMIT ${MAX_READ}`;

/** The refusals of the last 15 minutes, the last one first; at most 50. */
export function readRefusedSenders(store: ClickHouse): Promise<RefusedSender[]> {
  return store.rows<RefusedSender>('refused_senders.read', READ('address, route, cause', ''));
}

/**
 * The same for one app: refusals of its own senders, and of senders whose app is not known. Without
 * addresses, because such a sender may belong to another team.
 */
export const REFUSALS_OF_APP = READ('route, cause', ' AND app_id IN (0, {app_id:UInt32})');

/** What was wrong, and what to do. Both are parts of a sentence. */
export function explainRefusal(
  { program, collector }: Config,
  cause: RefusalCause,
): { reason: string; cure: string } {
  const create = `create one with ${program} write-token create --app ID`;
  switch (cause) {
    case 'no_token':
      return {
        reason: 'it sent no write token',
        cure: 'set OTEL_EXPORTER_OTLP_HEADERS to authorization=Bearer apt_…',
      };
    case 'api_key':
      return { reason: 'it sent an API key, which only reads, instead of a write token', cure: create };
    case 'unknown_token':
      return { reason: 'its write token is unknown', cure: create };
    case 'revoked_token':
      return { reason: 'its write token was revoked', cure: create };
    case 'unknown_client':
      return { reason: 'its client ID is unknown', cure: `${program} app list --team ID has those of apps` };
    case 'disabled_app':
      return { reason: 'its app is disabled', cure: `${program} app enable --app ID enables it` };
    case 'grpc':
      return {
        reason: 'it speaks gRPC, and this port HTTP',
        cure: `set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf, or send to COLLECTOR_GRPC_PORT (${collector.grpcPort ?? 'off'})`,
      };
    case 'wrong_port':
      return {
        reason: 'this port serves the API and takes no data',
        cure: `send to the collector, on port ${collector.port} (COLLECTOR_PORT)`,
      };
  }
}
