import { Global, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimitGuard } from './rate-limit/rate-limit.guard.js';
import { RateLimitModule } from './rate-limit/rate-limit.module.js';
import { ApiKeyGuard } from './keys/api-key.guard.js';
import { ApiKeyRepository } from './keys/api-key.repository.js';
import { OperationGuard } from './operations/operation.guard.js';
import { RefusedSenders } from './tokens/refused-senders.js';

/** Registers the guards in the contract's order: the key, the rate limit, the operation. */
@Global()
@Module({
  imports: [RateLimitModule],
  providers: [
    ApiKeyRepository,
    RefusedSenders,
    { provide: APP_GUARD, useClass: ApiKeyGuard },
    { provide: APP_GUARD, useExisting: RateLimitGuard },
    { provide: APP_GUARD, useClass: OperationGuard },
  ],
  exports: [ApiKeyRepository, RefusedSenders],
})
export class AuthModule {}
