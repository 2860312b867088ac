import { Inject, Injectable } from '@nestjs/common';
import { matchesHash, parseIdentifier } from '../../access/keys/api-key.js';
import { findTokenIdentifier } from '../../access/tokens/write-token.js';
import { ApiError } from '../../platform/http/api-error.js';
import { FailedAuthLimiter } from '../../access/rate-limit/failed-auth-limiter.js';
import type { ClientApp } from '../../access/tokens/client-apps.js';
import type { RefusalCause } from '../../access/tokens/refusals.js';
import { RefusedSenders } from '../../access/tokens/refused-senders.js';
import { MessageIntake } from './message-intake.js';
import type { SenderRequest } from './sender-request.js';
import { type WriteTokenRow, WriteTokens } from '../../access/tokens/write-tokens.js';

/** Injection token of the limiter for invalid write tokens; client IDs have their own limiter. */
export const TOKEN_FAILURES = Symbol('TOKEN_FAILURES');

type Sender = Pick<SenderRequest, 'headers' | 'ip' | 'route'>;

const CHALLENGE = { 'WWW-Authenticate': 'Bearer' };
const BEARER = /^Bearer +(\S+)$/i;

/** Finds the app of a request by its write token. */
@Injectable()
export class TokenAuthentication {
  constructor(
    private readonly tokens: WriteTokens,
    private readonly intake: MessageIntake,
    @Inject(TOKEN_FAILURES) private readonly failedAuth: FailedAuthLimiter,
    private readonly refused: RefusedSenders,
  ) {}

  /**
   * @throws ApiError 401 without a valid token, 429 after too many invalid ones, 503 if the store is
   * unavailable
   */
  async requireApp(sender: Sender): Promise<ClientApp> {
    const { headers, ip } = sender;
    const token = BEARER.exec(headers.authorization ?? '')?.[1];
    if (token === undefined) {
      if (parseIdentifier(String(headers['api-key'])) !== undefined) this.refuseApiKey(sender);
      this.refuse(sender, 'no_token', 'Write token missing: Authorization: Bearer apt_…');
    }
    let revoked: WriteTokenRow | undefined;
    const row = await this.intake.mapToUnavailable(
      this.failedAuth.authenticate(ip, this.tokens.lookup, findTokenIdentifier(token), (found) => {
        if (!found || !matchesHash(token, found.token_sha256)) return undefined;
        if (found.revoked) revoked = found;
        return found.revoked ? undefined : found;
      }),
    );
    if (!row) {
      if (parseIdentifier(token) !== undefined) this.refuseApiKey(sender);
      const cause = revoked ? 'revoked_token' : 'unknown_token';
      this.refuse(sender, cause, 'Write token unknown or revoked', revoked?.id);
    }
    const { id, team_id, framework, disabled, graphql } = row;
    return { id, team_id, framework, disabled, graphql };
  }

  private refuseApiKey(sender: Sender): never {
    this.refuse(sender, 'api_key', 'This is an API key, which only reads: send a write token, Bearer apt_…');
  }

  private refuse(sender: Sender, cause: RefusalCause, detail: string, appId = 0): never {
    this.refused.report(sender, cause, appId);
    throw new ApiError(401, detail, CHALLENGE);
  }
}
