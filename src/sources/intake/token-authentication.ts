import { Inject, Injectable } from '@nestjs/common';
import { matchesHash } from '../../access/keys/api-key.js';
import { findTokenIdentifier } from '../../access/tokens/write-token.js';
import { ApiError } from '../../platform/http/api-error.js';
import { FailedAuthLimiter } from '../../access/rate-limit/failed-auth-limiter.js';
import type { ClientApp } from '../../access/tokens/client-apps.js';
import { MessageIntake } from './message-intake.js';
import type { SenderRequest } from './sender-request.js';
import { WriteTokens } from '../../access/tokens/write-tokens.js';

/** Injection token of the limiter for invalid write tokens; client IDs have their own limiter. */
export const TOKEN_FAILURES = Symbol('TOKEN_FAILURES');

const CHALLENGE = { 'WWW-Authenticate': 'Bearer' };
const BEARER = /^Bearer +(\S+)$/i;

/** Finds the app of a request by its write token. */
@Injectable()
export class TokenAuthentication {
  constructor(
    private readonly tokens: WriteTokens,
    private readonly intake: MessageIntake,
    @Inject(TOKEN_FAILURES) private readonly failedAuth: FailedAuthLimiter,
  ) {}

  /**
   * @throws ApiError 401 without a valid token, 429 after too many invalid ones, 503 if the store is
   * unavailable
   */
  async requireApp({ headers, ip }: Pick<SenderRequest, 'headers' | 'ip'>): Promise<ClientApp> {
    const token = BEARER.exec(headers.authorization ?? '')?.[1];
    if (token === undefined)
      throw new ApiError(401, 'Write token missing: Authorization: Bearer apt_…', CHALLENGE);
    const row = await this.intake.mapToUnavailable(
      this.failedAuth.authenticate(ip, this.tokens.lookup, findTokenIdentifier(token), (found) =>
        found && !found.revoked && matchesHash(token, found.token_sha256) ? found : undefined,
      ),
    );
    if (!row) throw new ApiError(401, 'Write token unknown or revoked', CHALLENGE);
    const { id, team_id, framework, disabled } = row;
    return { id, team_id, framework, disabled };
  }
}
