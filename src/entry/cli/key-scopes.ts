import { isDeepStrictEqual } from 'node:util';
import { type Command, InvalidArgumentError } from 'commander';
import { AdminError } from '../../ops/admin/admin.error.js';
import type { Admin } from '../../ops/admin/admin.js';
import { ALL_SCOPES, type KeyScopes, OPERATIONS, type OperationId } from '../../platform/http/account.js';
import type { AuditTarget } from './audit.js';
import { consumerIdentifier, id, ids } from './options.js';
import { printMessage } from './output.js';

/** The options that limit what a key may read, and how often. */
export interface ScopeOptions {
  apps?: number[];
  operations?: OperationId[];
  bodies: boolean;
  consumer?: string;
  requestsPerMinute?: number;
}

export function addScopeOptions(command: Command): Command {
  return command
    .option('--apps <ids>', 'only these apps, separated by commas', ids)
    .option(
      '--operations <ids>',
      `only these operations, separated by commas: ${OPERATIONS.join(', ')}`,
      operations,
    )
    .option('--no-bodies', 'without headers and bodies of requests')
    .option('--consumer <identifier>', 'only the data of this consumer; needs --apps', consumerIdentifier)
    .option('--requests-per-minute <n>', 'its rate limit; RATE_LIMIT_PER_MINUTE when not given', id);
}

function operations(value: string): OperationId[] {
  const names = [...new Set(value.split(',').map((item) => item.trim()))];
  const unknown = names.filter((name) => !isOperation(name));
  if (unknown.length > 0)
    throw new InvalidArgumentError(
      `There is no operation ${unknown.join(', ')}. There are ${OPERATIONS.join(', ')}.`,
    );
  return names.filter(isOperation);
}

function isOperation(name: string): name is OperationId {
  return (OPERATIONS as readonly string[]).includes(name);
}

/**
 * @throws AdminError for a consumer without apps: another app may know another consumer by the same
 * identifier
 */
export function readScopes({
  apps,
  operations,
  bodies,
  consumer,
  requestsPerMinute,
}: ScopeOptions): KeyScopes {
  if (consumer !== undefined && apps === undefined)
    throw new AdminError('--consumer needs --apps: the apps in which the identifier is that consumer');
  return {
    appIds: apps ?? [],
    operations: operations ?? [],
    hasBodies: bodies,
    consumer: consumer ?? null,
    requestsPerMinute: requestsPerMinute ?? null,
  };
}

export function hasScopes(scopes: KeyScopes): boolean {
  return !isDeepStrictEqual(scopes, ALL_SCOPES);
}

/** The scopes for an audit line, which does not name the consumer. */
export function describeScopes({
  apps,
  operations,
  bodies,
  consumer,
  requestsPerMinute,
}: ScopeOptions): AuditTarget {
  return {
    apps: apps?.join(),
    operations: operations?.join(),
    bodies,
    one_consumer: consumer !== undefined,
    requests_per_minute: requestsPerMinute,
  };
}

/** A new customer has made no request yet, so this is not an error; but it may be a mistake. */
export async function warnOfUnknownConsumer(admin: Admin, { appIds, consumer }: KeyScopes): Promise<void> {
  if (consumer === null) return;
  const unknown = await admin.keys.listAppsWithoutConsumer(appIds, consumer);
  if (unknown.length > 0)
    printMessage(`No request of this consumer is known yet in app ${unknown.join(', ')}.`);
}
