import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import type { Account, KeyScopes } from '../../platform/http/account.js';
import { ACCEPTS_BEARER } from './accepts-bearer.decorator.js';
import { PUBLIC } from '../../platform/http/public.decorator.js';
import { invalidApiKey, notAuthenticated } from '../../platform/http/api-error.js';
import { FailedAuthLimiter } from '../rate-limit/failed-auth-limiter.js';
import { findTokenIdentifier } from '../tokens/write-token.js';
import { matchesHash, parseIdentifier } from './api-key.js';
import { ApiKeyRepository, type ApiKeyRow } from './api-key.repository.js';

const SENT_AS_BEARER = 'Send the API key in the header Api-Key, not as Authorization: Bearer';
const SENT_WRITE_TOKEN = 'This is a write token, with which applications send data: reading needs an API key';

/**
 * Every route needs a valid `Api-Key` unless it is `@Public()`: 401 otherwise (docs/contract.md#order,
 * docs/contract.md#errors).
 *
 * An address that sent too many invalid keys gets 429 for a while, without a query for each. A valid key
 * still passes, so that one attacker does not lock out other clients behind the same address.
 */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(
    private readonly keys: ApiKeyRepository,
    private readonly failedAuth: FailedAuthLimiter,
    private readonly reflector: Reflector,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.reflector.getAllAndOverride<boolean>(PUBLIC, [context.getHandler(), context.getClass()]))
      return true;
    const request = context.switchToHttp().getRequest<Request>();
    const acceptsBearer = this.reflector.getAllAndOverride<boolean>(ACCEPTS_BEARER, [
      context.getHandler(),
      context.getClass(),
    ]);
    const bearer = readBearer(request);
    const key = request.header('api-key') ?? (acceptsBearer ? bearer : '');
    if (key === '') throw notAuthenticated(bearer === '' ? undefined : SENT_AS_BEARER);
    request.account = await this.authenticate(request, key);
    return true;
  }

  private async authenticate(request: Request, key: string): Promise<Account> {
    const row = await this.failedAuth.authenticate(
      request.ip,
      this.keys.lookup,
      parseIdentifier(key),
      (found) => (found && isValid(found, key) ? found : undefined),
    );
    if (!row) throw invalidApiKey(findTokenIdentifier(key) === undefined ? undefined : SENT_WRITE_TOKEN);
    const { team_id: teamId, team_name: teamName, plan, identifier: keyIdentifier } = row;
    return { teamId, teamName, plan, keyIdentifier, scopes: readScopes(row) };
  }
}

function isValid(row: ApiKeyRow, key: string): boolean {
  const current = !row.revoked && (row.expires_at_ms === null || row.expires_at_ms > Date.now());
  return matchesHash(key, row.key_sha256) && current;
}

function readScopes({
  app_ids: appIds,
  operations,
  has_bodies: hasBodies,
  consumer,
  requests_per_minute,
}: ApiKeyRow): KeyScopes {
  return {
    appIds,
    operations,
    hasBodies,
    consumer: consumer === '' ? null : consumer,
    requestsPerMinute: requests_per_minute === 0 ? null : requests_per_minute,
  };
}

/** The credentials of the scheme `Bearer` (RFC 6750); empty if there are none. */
function readBearer(request: Request): string {
  return /^Bearer +([^ ]+) *$/i.exec(request.header('authorization') ?? '')?.[1] ?? '';
}
